//! The pages that `serve` and `--live` make, used in a real browser.

use crate::browser::{Browser, BrowserPage};
use crate::serve::{HOSTILE, Served, live_run, run, serve, started};
use crate::support::{Place, Sim};

/// Nothing of a page is wider than its window, and no script of others ran.
#[track_caller]
fn is_sound(page: &mut BrowserPage) {
    let wide = page.value("document.documentElement.scrollWidth - innerWidth");
    assert!(
        wide.as_f64() <= Some(0.0),
        "wider than the window by {wide}"
    );
    assert_eq!(page.value("window.hurt === undefined"), true);
}

#[test]
fn results_are_found_ticked_and_compared() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    for (name, seed) in [("kept/a", "1"), ("kept/b", "2")] {
        run(&place, name, seed);
    }
    let served = serve(&place, &["kept"]);
    let home = format!("http://{}/", served.address);
    for width in [1200, 390] {
        let mut page = browser.page(width);
        page.go(&home);
        page.until("document.querySelectorAll('input[type=checkbox]').length === 2");
        is_sound(&mut page);
        assert_eq!(
            page.value(&format!("document.body.textContent.includes({HOSTILE:?})")),
            true
        );
        page.value("document.querySelectorAll('input[type=checkbox]').forEach((it) => it.click())");
        page.until("!document.getElementById('test').hidden");
        page.value("document.querySelector('#test a').click()");
        page.until("location.pathname === '/compare' && document.readyState === 'complete'");
        page.until("document.body.innerText.includes('output tok/s')");
        is_sound(&mut page);
        page.go(&format!("{home}runs/a"));
        page.until("document.querySelectorAll('canvas, svg').length > 0");
        is_sound(&mut page);
    }
}

#[test]
fn everything_has_a_name_is_reached_by_keys_and_every_chart_can_be_taken_along() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    for (name, seed) in [("kept/a", "1"), ("kept/b", "2")] {
        run(&place, name, seed);
    }
    let served = serve(&place, &["kept", "--allow-run"]);
    let home = format!("http://{}/", served.address);
    let mut page = browser.page(1200);
    for (path, has_charts) in [
        ("", false),
        ("new", false),
        ("runs/nothing", false),
        ("runs/a", true),
        ("compare?ids=a,b", true),
        ("history", true),
    ] {
        page.go(&format!("{home}{path}"));
        if has_charts {
            page.until("Number(document.documentElement.dataset.charts) > 0");
            let taken = "[...document.querySelectorAll('[data-panel]')].every((plot) => \
                         plot.parentElement.querySelectorAll('[data-take]').length === 2)";
            assert_eq!(page.value(taken), true, "{path}");
        }
        let unnamed = page.unnamed();
        assert!(unnamed.is_empty(), "{path}: {unnamed:#?}");
    }
    // Two are ticked and compared without a mouse.
    page.go(&home);
    for _ in 0..2 {
        page.tab_to(
            "document.activeElement.type === 'checkbox' && !document.activeElement.checked",
        );
        page.press("Space");
        page.until("document.activeElement.checked");
    }
    page.tab_to("document.activeElement.closest('#test') !== null");
    page.press("Enter");
    page.until("location.pathname === '/compare' && document.readyState === 'complete'");
}

#[test]
fn a_long_list_is_shown_in_pieces_and_searched_whole_and_the_first_ticked_is_the_baseline() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    run(&place, "kept/old", "1");
    for number in 0..250 {
        let folder = place.path("kept").join(format!("import-{number:03}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("import.json"), "{}").unwrap();
    }
    run(&place, "kept/team/new", "1");
    let served = serve(&place, &["kept"]);
    let mut page = browser.page(390);
    page.go(&format!("http://{}/", served.address));
    let rows = "document.querySelectorAll('tr[data-at]').length";
    page.until(&format!("{rows} === 200"));
    page.value("document.getElementById('more').click()");
    page.until(&format!("{rows} === 252"));
    page.value(
        "(() => { const search = document.getElementById('search'); search.value = 'import-007'; \
         search.dispatchEvent(new Event('input')); })()",
    );
    page.until(&format!("{rows} === 1"));
    let wide = "document.querySelector('.scroll').scrollWidth <= document.querySelector('.scroll').clientWidth";
    assert_eq!(page.value(wide), true, "no row is wider than a phone");
    page.value(
        "(() => { const search = document.getElementById('search'); search.value = ''; \
         search.dispatchEvent(new Event('input')); })()",
    );
    // In the order of ticking, whatever that of the list.
    for name in ["old", "team/new"] {
        page.value(&format!(
            "[...document.querySelectorAll('input[type=checkbox]')].find((it) => it.ariaLabel === '{name}').click()"
        ));
    }
    let link = "decodeURIComponent(document.querySelector('#test a').search)";
    page.until(&format!("{link} === '?ids=old,team/new'"));
    // A link with both opens with both ticked, in that order.
    page.reload();
    page.until(&format!("{link} === '?ids=old,team/new'"));
    page.value("document.querySelector('#test a').click()");
    page.until("location.pathname === '/compare' && document.readyState === 'complete'");
    page.until("document.body.innerText.includes('team/new')");
}

#[test]
fn a_run_is_followed_to_its_end_also_by_a_server_that_came_back() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let own = live_run(&place, &sim);
    let served = serve(&place, &["kept"]);
    let address = served.address.clone();
    let mut page = browser.page(390);
    page.go(&format!("http://{address}/runs/live"));
    page.until("Number(document.getElementById('done').textContent.replace(/\\D.*/, '')) > 0");
    page.until("document.querySelector('#chart-tokens polyline') !== null");
    page.until("document.getElementById('state').textContent === 'measuring'");
    page.until("document.getElementById('left').textContent.endsWith('left')");
    is_sound(&mut page);
    // Charts can be taken along, and have names.
    page.value(
        "window.taken = []; URL.createObjectURL = (blob) => { blob.text().then((it) => taken.push(it)); return '#'; }",
    );
    page.value(
        "document.querySelectorAll('figure:not([hidden]) button.take').forEach((it) => it.click())",
    );
    page.until(
        "taken.some((it) => it.startsWith('<svg')) && taken.some((it) => it.startsWith('\"s\",'))",
    );
    assert_eq!(
        page.value("document.getElementById('chart-tokens').ariaLabel"),
        "output tokens per second"
    );
    // The server of pages goes and comes back; the page goes on by itself.
    drop(served);
    page.until("document.getElementById('state').textContent.includes('again')");
    let again = ["serve", "--listen", &address, "--lang", "en", "kept"];
    let served: Served = started(&place, &again);
    assert_eq!(served.address, address);
    page.until("!document.getElementById('state').textContent.includes('again')");
    // Ended from its own page, after a question.
    let mut owner = browser.page(1200);
    owner.go(&format!("http://{}/runs/live", own.address));
    owner.value("window.confirm = () => true; document.getElementById('end').click()");
    page.until("document.getElementById('state') === null && document.readyState === 'complete'");
    page.until("document.querySelectorAll('canvas, svg').length > 0");
    is_sound(&mut page);
}

#[test]
fn whoever_reads_chinese_does_so_on_every_page() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    run(&place, "kept/a", "1");
    // Nobody chose a language, so that readers have their own.
    let options = ["serve", "--listen", "127.0.0.1:0", "kept", "--allow-run"];
    let served = started(&place, &options);
    let home = format!("http://{}/", served.address);
    let mut page = browser.page(1200);
    page.go(&home);
    page.value("localStorage.setItem('inferometer-language', 'zh')");
    for (path, title, text) in [
        ("", "测试结果 · Inferometer", "全部结论"),
        ("new", "新测量", "等价的命令行"),
        ("history", "kept · 历史", "全部结果"),
        ("runs/nothing", "Inferometer", "没有这个结果或页面"),
        ("compare?ids=a,b", "Inferometer", "这里没有结果 b"),
    ] {
        page.go(&format!("{home}{path}"));
        page.until(&format!("document.title === {title:?}"));
        let shows = format!("document.body.innerText.includes({text:?})");
        assert_eq!(page.value(&shows), true, "{path}");
        let english = "document.body.innerText.includes('all results')";
        assert_eq!(page.value(english), false, "{path}");
    }
    // Choices have names.
    page.go(&home);
    page.until("document.getElementById('kind').ariaLabel === '全部类型'");
}

#[test]
fn a_stranger_sees_nothing_without_the_token() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    run(&place, "kept/a", "1");
    place.write("token", "0123456789abcdef0123");
    let served = serve(&place, &["kept", "--token-file", "token"]);
    let home = format!("http://{}/", served.address);
    let mut page = browser.page(1200);
    page.go(&home);
    assert_eq!(
        page.value("document.querySelectorAll('input[type=checkbox]').length"),
        0
    );
    page.go(&format!("{home}?token=0123456789abcdef0124"));
    assert_eq!(
        page.value("document.querySelectorAll('input[type=checkbox]').length"),
        0
    );
    page.go(&format!("{home}?token=0123456789abcdef0123"));
    page.until("document.querySelectorAll('input[type=checkbox]').length === 1");
    // The cookie is enough from now on, and the address no longer tells the token.
    page.go(&home);
    page.until("document.querySelectorAll('input[type=checkbox]').length === 1");
    assert_eq!(
        page.value("document.cookie"),
        "",
        "no script can read the cookie"
    );
}

#[test]
fn a_measurement_is_started_from_the_form_and_followed_to_its_report() {
    let Some(browser) = Browser::start() else {
        return;
    };
    let place = Place::new();
    let sim = Sim::start(&["--ttft", "5ms", "--itl", "1ms"]);
    let served = serve(&place, &[".", "--allow-run"]);
    let mut page = browser.page(390);
    page.go(&format!("http://{}/new", served.address));
    is_sound(&mut page);
    let fill = |name: &str, value: &str| {
        format!(
            "(() => {{ const input = document.querySelector('form:not([hidden]) [data-name=\"{name}\"]'); \
             input.value = {value:?}; input.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
        )
    };
    page.value(&fill("", &sim.url));
    page.value(&fill("--requests", "40"));
    page.value(&fill("--label", "it's"));
    let line = format!(
        "inferometer run {} --requests=40 '--label=it'\\''s'",
        sim.url
    );
    assert_eq!(
        page.value("document.getElementById('line').textContent.split(' ').sort().join(' ')"),
        {
            let mut words: Vec<&str> = line.split(' ').collect();
            words.sort_unstable();
            words.join(" ")
        }
    );
    page.value("document.getElementById('start').click()");
    page.until("location.pathname.startsWith('/runs/')");
    page.until("document.getElementById('state') === null && document.readyState === 'complete'");
    page.until("document.body.innerText.includes('40')");
    is_sound(&mut page);
}
