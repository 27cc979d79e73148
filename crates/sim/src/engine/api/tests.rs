use super::*;

const COST: ApiCost = ApiCost {
    request_us: 1000.0,
    prompt_token_us: 1.0,
    chunk_us: 50.0,
    token_us: 10.0,
    latency_us: 500.0,
};

/// Whose tasks are the fewest.
const PLAIN: Habits = Habits {
    slice: VLLM.slice,
    ..OTHERS
};

fn admitted(id: u64, prompt_tokens: u32) -> Admitted {
    Admitted {
        request: Request::new(id, prompt_tokens, 9),
        output: 9,
        core: 0,
    }
}

fn chunk(request: u64, finished: Option<(Finish, u32)>) -> Chunk {
    Chunk {
        request,
        ticket: request as Ticket,
        tokens: 1,
        batch: 1,
        finished,
    }
}

/// A step of the engine that ends at this time with a token for each of the requests.
fn step(front: &mut FrontEnd, made_at: Nanos, requests: std::ops::Range<u64>) {
    let chunks: Vec<Chunk> = requests.map(|request| chunk(request, None)).collect();
    front.hand_over(made_at, &chunks);
}

/// A front end that has taken in so many requests.
fn with_requests(habits: Habits, requests: u64) -> FrontEnd {
    let mut front = FrontEnd::with(COST, 1, habits);
    for id in 0..requests {
        front.accept(0, admitted(id, 0));
    }
    sent(&mut front);
    front
}

/// Does the next task alone: what the scheduler sees, and request, tokens and time of what is
/// sent.
fn work(front: &mut FrontEnd) -> (Option<TakenIn>, Option<(u64, u32, Nanos)>) {
    let Some((_, place)) = front.next() else {
        return (None, None);
    };
    let mut events = Vec::new();
    let taken_in = front.work(place, 0, &mut events).break_value().flatten();
    let sent = events.first().and_then(|event| match event.kind {
        EventKind::Tokens { count, .. } => Some((event.request, count, event.at)),
        _ => None,
    });
    (taken_in, sent)
}

/// When the scheduler sees each request, until nothing is left to do.
fn seen(front: &mut FrontEnd) -> Vec<(u64, Nanos)> {
    let mut seen = Vec::new();
    while front.wake().is_some() {
        let taken_in = work(front).0;
        seen.extend(taken_in.map(|it| (it.admitted.request.id, it.seen_at)));
    }
    seen
}

/// What is sent until nothing is left to do.
fn sent(front: &mut FrontEnd) -> Vec<(u64, u32, Nanos)> {
    let mut sent = Vec::new();
    while front.wake().is_some() {
        sent.extend(work(front).1);
    }
    sent
}

#[test]
fn requests_that_come_together_are_taken_in_by_turns() {
    let mut front = FrontEnd::with(COST, 1, PLAIN);
    assert!(front.accept(0, admitted(0, 100)).is_none());
    // The other comes while the first is read, and is read before that is handed on.
    front.accept(100, admitted(1, 100));
    assert_eq!(front.wake(), Some(550_000));
    assert_eq!(seen(&mut front), [(0, 2_150_000), (1, 2_700_000)]);
    front.accept(10_000_000, admitted(2, 0));
    assert_eq!(seen(&mut front), [(2, 11_500_000)]);
    assert_eq!(front.busy, 3_200_000);
}

#[test]
fn a_server_that_is_behind_sends_several_tokens_in_one_chunk() {
    let mut front = with_requests(PLAIN, 2);
    // The second step ends while the first is handled, the third while its chunks go out.
    step(&mut front, 2_000_000, 0..2);
    assert!(matches!(work(&mut front), (None, None)));
    step(&mut front, 2_010_000, 0..2);
    step(&mut front, 2_030_000, 0..2);
    assert_eq!(
        sent(&mut front),
        [
            (0, 1, 2_570_000),
            (1, 1, 2_620_000),
            (0, 2, 2_710_000),
            (1, 2, 2_760_000),
        ]
    );
}

#[test]
fn with_more_requests_than_a_slice_each_token_is_a_chunk_though_the_server_is_behind() {
    let mut tokens = [2, 128].map(|slice| {
        let mut front = with_requests(Habits { slice, ..PLAIN }, 4);
        for moment in 0..5 {
            step(&mut front, 9_000_000 + moment, 0..4);
        }
        let sent = sent(&mut front);
        assert_eq!(sent.iter().map(|(_, tokens, _)| tokens).sum::<u32>(), 20);
        sent.len()
    });
    tokens.sort_unstable();
    assert_eq!(tokens, [4, 20]);
}

#[test]
fn a_request_waits_a_round_of_a_server_that_is_behind_for_each_time_it_is_passed_on() {
    let seen_at = |passes, steps| {
        let habits = Habits {
            passes,
            slice: 2,
            ..PLAIN
        };
        let mut front = with_requests(habits, 4);
        for moment in 0..steps {
            step(&mut front, 9_000_000 + moment, 0..4);
        }
        front.accept(9_000_010, admitted(4, 0));
        seen(&mut front)[0].1
    };
    assert_eq!(seen_at(3, 0), seen_at(0, 0));
    // A round is a slice of one step and a slice of the next: four tokens of 10 µs, each a chunk.
    assert_eq!(seen_at(1, 9) - seen_at(0, 9), 240_000);
    assert_eq!(seen_at(3, 9) - seen_at(0, 9), 720_000);
    let passed_often = seen_at(u8::MAX, 9);
    assert_eq!(passed_often, seen_at(100, 9), "all has been sent by then");
}

#[test]
fn the_end_of_an_answer_costs_what_vllm_sends_then() {
    let busy = |finished| {
        let mut front = with_requests(VLLM, 1);
        front.hand_over(9_000_000, &[chunk(0, finished)]);
        sent(&mut front);
        front.busy
    };
    assert_eq!(busy(Some((Finish::Stop, 0))) - busy(None), 100_000);
}

#[test]
fn several_servers_work_side_by_side() {
    let mut front = FrontEnd::with(COST, 2, PLAIN);
    for id in 0..4 {
        front.accept(0, admitted(id, 0));
    }
    let seen = seen(&mut front).into_iter().map(|(_, at)| at);
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [2_000_000, 2_000_000, 2_500_000, 2_500_000]
    );
}

#[test]
fn a_cancelled_request_costs_nothing() {
    let mut front = FrontEnd::with(COST, 1, PLAIN);
    front.accept(0, admitted(0, 0));
    front.accept(0, admitted(1, 0));
    assert!(front.cancel(1) && !front.cancel(1));
    step(&mut front, 5, 1..2);
    assert!(sent(&mut front).is_empty());
    assert_eq!(front.busy, 1_000_000);
}

#[test]
fn a_free_front_end_adds_nothing() {
    let mut front = FrontEnd::with(ApiCost::FREE, 1, VLLM);
    for id in 0..3 {
        let taken_in = front.accept(7, admitted(id, 100));
        let times = taken_in.map(|taken_in| [taken_in.begun, taken_in.seen_at]);
        assert_eq!(times, Some([7, 7]));
    }
    step(&mut front, 9, 0..3);
    assert_eq!(sent(&mut front), [(0, 1, 9), (1, 1, 9), (2, 1, 9)]);
    assert_eq!(front.busy, 0);
}

#[test]
fn chunks_are_sent_together_up_to_a_time_or_the_end_of_an_answer() {
    let mut front = with_requests(PLAIN, 4);
    step(&mut front, 9_000_000, 0..4);
    let mut events = Vec::new();
    // The outputs are handled, then they go out every 50 us.
    for (until, sent_by_then) in [(0, 0), (9_091_000, 2), (Nanos::MAX, 4)] {
        assert!(front.work(0, until, &mut events).is_continue());
        assert_eq!(events.len(), sent_by_then);
    }
    front.hand_over(10_000_000, &[chunk(1, Some((Finish::Stop, 0)))]);
    step(&mut front, 10_000_001, 2..4);
    events.clear();
    assert!(front.work(0, Nanos::MAX, &mut events).is_continue());
    assert!(front.work(0, Nanos::MAX, &mut events).is_break());
    assert_eq!(events.len(), 2);
    assert!(!front.knows(1) && front.knows(2));
}
