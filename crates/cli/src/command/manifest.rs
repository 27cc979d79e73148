//! `inferometer manifest kubernetes`: the objects by which a cluster runs a shared measurement, to
//! be read, changed and applied. Nothing is sent to a cluster from here.

use crate::exit::Exit;
use crate::output::print;
use anyhow::{Context, bail};
use clap::{Args, Command, Subcommand};
use inferometer_text::fill;
use inferometer_text::secret::command_secrets;
use inferometer_text::user_file;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Args)]
pub struct ManifestArguments {
    #[command(subcommand)]
    launcher: Launcher,
}

#[derive(Subcommand)]
enum Launcher {
    /// An Indexed Job whose pods are the ranks, and the Service by which they find rank 0
    #[command(
        after_help = "Example: inferometer manifest kubernetes --workers 8 --image registry.example/inferometer:0.1 -- run http://vllm:8000 --concurrency 4096 --requests 100000 | kubectl apply -f -"
    )]
    Kubernetes(KubernetesArguments),
}

#[derive(Args)]
struct KubernetesArguments {
    /// Pods that share the load
    #[arg(long, value_name = "N")]
    workers: u32,
    /// Image whose entry point is this program
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// Name of the objects
    #[arg(long, value_name = "NAME", default_value = "inferometer")]
    name: String,
    /// Secret whose key of this name is the API key, as in server-keys/OPENAI_API_KEY
    #[arg(long, value_name = "SECRET/KEY")]
    secret: Option<String>,
    /// Secret whose keys become variables of the pods, such as AWS_ACCESS_KEY_ID and
    /// AWS_SECRET_ACCESS_KEY for --out s3://…
    #[arg(long, value_name = "SECRET")]
    env_secret: Option<String>,
    /// Cores that each pod asks for
    #[arg(long, value_name = "CORES", default_value = "2")]
    cpu: String,
    /// Memory that each pod asks for
    #[arg(long, value_name = "BYTES", default_value = "1Gi")]
    memory: String,
    /// Claim of a volume that keeps the run [nothing outlives the pods but the report in the log
    /// of rank 0]
    #[arg(long, value_name = "CLAIM")]
    claim: Option<String>,
    /// The measurement: run, its URL and options
    #[arg(last = true, required = true, value_name = "run …")]
    command: Vec<String>,
}

/// Where rank 0 listens: all pods are alike.
const PORT: u16 = 7471;
const RESULTS: &str = "/results";
const CONFIG: &str = "/config";

pub fn run(arguments: &ManifestArguments, program: Command) -> anyhow::Result<Exit> {
    let Launcher::Kubernetes(of) = &arguments.launcher;
    print(&kubernetes(of, program)?)?;
    Ok(Exit::Fine)
}

fn kubernetes(of: &KubernetesArguments, program: Command) -> anyhow::Result<String> {
    if of.workers < 2 {
        bail!(
            "--workers {}: one pod shares with nobody; give 2 or more",
            of.workers
        );
    }
    // A pod is called after the Job and its index, and that is part of a name in DNS.
    let longest = 63 - 1 - of.workers.to_string().len();
    if !is_label(&of.name) || of.name.len() > longest {
        bail!(
            "--name {} is no name for a Service; write lower-case letters, digits and dashes, {longest} at most",
            of.name
        );
    }
    let (mut command, config) = taken_apart(&of.command, program)?;
    if !command
        .iter()
        .any(|word| word == "--out" || word.starts_with("--out="))
    {
        command.extend(["--out".to_owned(), format!("{RESULTS}/{}", of.name)]);
    }
    let secret = of.secret.as_deref().map(|secret| {
        let parts = secret
            .split_once('/')
            .filter(|(name, key)| !name.is_empty() && !key.is_empty());
        parts.with_context(|| {
            format!("--secret {secret}: write SECRET/KEY, as in server-keys/OPENAI_API_KEY")
        })
    });
    let objects = Objects {
        of,
        command,
        config,
        secret: secret.transpose()?,
    };
    Ok(objects.yaml())
}

/// The command as the pods run it, and the file of options that they need.
fn taken_apart(
    words: &[String],
    program: Command,
) -> anyhow::Result<(Vec<String>, Option<String>)> {
    let shared = ["run", "sweep", "capacity"];
    if !(words.first()).is_some_and(|word| shared.contains(&word.as_str())) {
        bail!(
            "after -- comes a measurement that pods can share: run, sweep or capacity with a URL and its options"
        );
    }
    if !command_secrets(words).is_empty() {
        bail!(
            "the command holds a password or key, which everybody could read in the manifest; put it into a Secret of the cluster and name that: --secret SECRET/KEY for the API key, --env-secret SECRET for variables such as INFEROMETER_HEADER"
        );
    }
    let line = std::iter::once("inferometer".to_owned()).chain(words.iter().cloned());
    if let Err(error) = program.try_get_matches_from(line) {
        let said = error.render().to_string();
        let said = said.split("\n\n").next().unwrap_or_default();
        bail!("after --: {}", said.trim_start_matches("error: "));
    }
    for word in words {
        let of_ranks = ["--rank", "--of", "--meet"].into_iter().find(|option| {
            word == option
                || word
                    .strip_prefix(option)
                    .is_some_and(|rest| rest.starts_with('='))
        });
        if let Some(option) = of_ranks {
            bail!("{option} is the Job's to say; leave it out after --");
        }
    }
    let mut words = words.to_vec();
    let Some(at) = words.iter().position(|word| word == "--config") else {
        return Ok((words, None));
    };
    let file = words.get(at + 1).cloned().unwrap_or_default();
    let text =
        user_file::read_text(&file).with_context(|| format!("cannot read --config {file}"))?;
    let name = Path::new(&file).file_name().and_then(|name| name.to_str());
    words[at + 1] = format!("{CONFIG}/{}", name.unwrap_or("scenario.toml"));
    Ok((words, Some(text)))
}

/// A label of DNS, as names of Services are.
fn is_label(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let inner = !name.starts_with('-') && !name.ends_with('-');
    name.chars().all(plain) && inner && name.starts_with(|c: char| c.is_ascii_lowercase())
}

struct Objects<'a> {
    of: &'a KubernetesArguments,
    command: Vec<String>,
    config: Option<String>,
    secret: Option<(&'a str, &'a str)>,
}

impl Objects<'_> {
    fn yaml(&self) -> String {
        let name = &self.of.name;
        let mut text = String::new();
        if let Some(config) = &self.config {
            let file = self
                .command
                .iter()
                .find_map(|word| word.strip_prefix(&format!("{CONFIG}/")));
            let file = file.unwrap_or("scenario.toml");
            let _ = write!(
                text,
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  {}: {}\n---\n",
                quoted(file),
                quoted(config)
            );
        }
        text + &self.objects()
    }

    /// The Service and the Job.
    fn objects(&self) -> String {
        let KubernetesArguments {
            workers,
            image,
            name,
            cpu,
            memory,
            claim,
            env_secret,
            ..
        } = self.of;
        let variables = env_secret.as_ref().map_or(String::new(), |secret| {
            format!(
                "          envFrom:\n            - secretRef:\n                name: {}\n",
                quoted(secret)
            )
        });
        let arguments: String = self.command.iter().fold(String::new(), |mut text, word| {
            let _ = writeln!(text, "            - {}", quoted(word));
            text
        });
        let key = self.secret.map_or(String::new(), |(secret, key)| {
            format!(
                "            - name: OPENAI_API_KEY\n              valueFrom:\n                secretKeyRef:\n                  name: {}\n                  key: {}\n",
                quoted(secret),
                quoted(key)
            )
        });
        let if_config = |text: String| text.repeat(usize::from(self.config.is_some()));
        let mount = if_config(format!(
            "            - name: config\n              mountPath: {CONFIG}\n              readOnly: true\n"
        ));
        let volume = if_config(format!(
            "        - name: config\n          configMap:\n            name: {name}\n"
        ));
        let results = match claim {
            Some(claim) => format!(
                "persistentVolumeClaim:\n            claimName: {}",
                quoted(claim)
            ),
            None => "emptyDir: {}".to_owned(),
        };
        // What a user wrote comes last, so that no place is sought in it.
        let values = [
            ("name", name.clone()),
            ("port", PORT.to_string()),
            ("results-folder", RESULTS.to_owned()),
            ("workers", workers.to_string()),
            ("meet", quoted(&format!("{name}-0.{name}:{PORT}"))),
            ("mount", mount),
            ("volume", volume),
            ("results", results),
            ("variables", variables),
            ("key", key),
            ("cpu", quoted(cpu)),
            ("memory", quoted(memory)),
            ("image", quoted(image)),
            ("arguments", arguments),
        ];
        fill(include_str!("../../data/kubernetes.yaml"), &values)
    }
}

/// A text as YAML has it in double quotes, which is how JSON writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
