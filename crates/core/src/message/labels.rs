//! Labels, headings and definitions of reports.

use super::Lang;

/// A text of a report. Those that carry `{name}` are templates for [`super::fill`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// The verdict on a run without a grave doubt.
    Valid,
    /// The verdict on a run with one.
    Invalid,
    /// What `runs` says of a run that has no ending.
    Unfinished,
    /// The reason of a verdict without any doubt.
    NoDoubts,
    /// One warning, in the verdict.
    OneWarning,
    /// `{count}` warnings, in the verdict.
    Warnings,
    /// One note, in the verdict.
    OneNote,
    /// `{count}` notes, in the verdict.
    Notes,
    /// One further reason, after the first.
    OneMoreReason,
    /// `{count}` further reasons, after the first.
    MoreReasons,
    /// The reason of an invalid run that names none.
    NoReasonStored,
    /// In the verdict: all objectives were met.
    ObjectivesMet,
    /// In the verdict: `{list}` was missed.
    ObjectivesMissed,
    /// In the verdict: `{list}` can be called neither met nor missed.
    ObjectivesUndecided,
    /// In the verdict: the share of requests was missed.
    AttainmentMissed,

    /// Key: name, time and tags.
    Run,
    /// Key: where requests went.
    Server,
    /// Before the address of the embedded engine.
    SimulatedEngine,
    /// Key: the model.
    Model,
    /// Key: the API.
    Api,
    /// After the API's name.
    Streamed,
    /// After the API's name.
    NotStreamed,
    /// Key: when requests were sent.
    Load,
    /// `{streams}` streams.
    ClosedLoop,
    /// The first wave over `{time}`.
    Spread,
    /// The first wave at one moment.
    AllAtOnce,
    /// `{rate}` a second.
    OpenLoop,
    /// `{rate}` conversations a second.
    OpenLoopTalks,
    /// Everything at one moment.
    OpenLoopAtOnce,
    /// Equal gaps.
    ArrivalConstant,
    /// Exponential gaps.
    ArrivalPoisson,
    /// Gamma gaps of `{burstiness}`.
    ArrivalGamma,
    /// A linear ramp from `{rate}` over `{time}`.
    RampLinear,
    /// An exponential ramp from `{rate}` over `{time}`.
    RampExponential,
    /// A trace at `{speed}` times its own pace.
    Replay,
    /// A cap of `{cap}`.
    Cap,
    /// Key: what was sent.
    Work,
    /// Synthetic prompts of `{length}` tokens.
    SyntheticPrompts,
    /// Synthetic prompts and answers of `{pairs}`.
    PairPrompts,
    /// Rows of `{file}`, of `{format}`.
    DataPrompts,
    /// Prompts as long as those of the trace `{file}`.
    TracePrompts,
    /// Pieces of `{length}` from `{file}`, and `{ask}` characters asked for.
    Continuation,
    /// The text to continue is ours.
    EmbeddedText,
    /// A number of tokens.
    InTokens,
    /// A number of characters.
    InChars,
    /// `{groups}` beginnings of `{tokens}` that prompts share.
    SharedTokens,
    /// `{groups}` beginnings of `{share}` of each prompt.
    SharedShare,
    /// Prompts are in Chinese.
    ChineseText,
    /// Prompts are sent as token ids.
    AsTokenIds,
    /// Conversations of `{turns}` turns.
    Conversations,
    /// Conversations with all the turns of the data.
    WholeConversations,
    /// `{time}` to think between turns.
    Think,
    /// Lengths of answers from the data.
    AnswersFromWork,
    /// Answers end by themselves.
    AnswersFree,
    /// The prompt `{text}`.
    OnePrompt,
    /// `{count}` distinct prompts.
    DistinctPrompts,
    /// A nonce is in use.
    NewPrompts,
    /// Answers of exactly `{length}` tokens.
    AnswersExact,
    /// Answers of up to `{length}` tokens.
    AnswersUpTo,
    /// `{value}` as temperature.
    Temperature,
    /// `{value}` as top-p.
    TopP,
    /// Key: how much was sent.
    Extent,
    /// A trace to its end.
    ExtentAll,
    /// Part of a trace.
    ExtentPart,
    /// `{count}` requests.
    ExtentRequests,
    /// For `{time}`.
    ExtentDuration,
    /// `{count}` requests or `{time}`.
    ExtentEither,
    /// A soak of `{time}`.
    ExtentSoak,
    /// `{warmup}` requests first.
    WarmupRequests,
    /// `{time}` of warm-up.
    WarmupTime,
    /// None at all.
    NoWarmup,
    /// The window took `{time}`.
    MeasuredFor,
    /// Ended by a signal.
    EndedBySignal,
    /// Ended by a condition.
    EndedByCondition,
    /// `--until` ended the run.
    EndedPrecise,
    /// Ended by the watchdog.
    EndedByWatchdog,
    /// Killed.
    EndedByKill,
    /// Key: a decision that a reader should know.
    Note,

    /// Heading: the few numbers that matter.
    Result,
    /// Column: interval of a value.
    Interval,
    /// Column: value in the steady state of `{time}`.
    SteadyState,
    /// Row: complete answers.
    Requests,
    /// Row: output tokens.
    OutputTokens,
    /// Row: input and output tokens.
    TotalTokens,
    /// Row: requests that meet all objectives.
    Goodput,
    /// Row: median of `{metric}`.
    Median,
    /// Key: accounting of requests.
    Accounts,
    /// `{count}` sent once more.
    Resent,
    /// `{ok}`, `{failed}`, `{cut}`, `{unsent}`, `{planned}`.
    AccountsOf,
    /// Key: requests under way.
    InFlight,
    /// `{mean}` and `{peak}` of `{configured}`.
    InFlightOf,
    /// `{mean}` and `{peak}`.
    InFlightFree,
    /// Key: token totals.
    Tokens,
    /// `{input}` and `{output}`.
    TokensOf,
    /// Counted by the server.
    CountedByServer,
    /// Counted by us.
    CountedByUs,
    /// Counted by nobody.
    NotCounted,
    /// `{share}` of the prompt tokens were cached.
    CachedShare,
    /// Key: mean lengths.
    Lengths,
    /// Mean prompt length `{mean}`.
    InputLength,
    /// Mean prompt length `{mean}` of `{asked}`.
    InputLengthAsked,
    /// Mean answer length `{mean}`.
    OutputLength,
    /// Mean answer length `{mean}` of `{asked}`.
    OutputLengthAsked,
    /// `{mean}` characters in a token.
    CharsPerToken,
    /// Key: tokens a second as one user gets them.
    PerUser,
    /// `{mean}`, `{median}` and `{least}` tokens a second.
    PerUserOf,
    /// The median of decoding alone.
    DecodeOf,
    /// Key: the client's own state.
    Client,
    /// `{lag}` late at p99.
    ClientLag,
    /// `{share}` of a core.
    ClientCpu,
    /// `{share}` of the ceiling.
    ClientCeiling,

    /// Heading: latencies.
    Latency,
    /// Column: mean.
    Mean,
    /// Column: maximum.
    Max,
    /// Row: time to first token.
    Ttft,
    /// Row: the same from sending.
    TtftFromSent,
    /// Row: first token that is not reasoning.
    FirstAnswer,
    /// Row: second token.
    SecondToken,
    /// Row: time per output token.
    Tpot,
    /// Row: gap between tokens.
    Itl,
    /// Row: gap between chunks.
    InterChunk,
    /// Row: the largest gap of a request.
    MaxGap,
    /// Row: end-to-end latency.
    E2e,
    /// Row: time to connect.
    Connect,
    /// Row: the client's lateness.
    Lag,
    /// Row: wait at the cap.
    CapWait,
    /// Footnote to a percentile with too few samples; `{least}`.
    TooFew,
    /// In place of the numbers of a run without an answer.
    NothingAnswered,
    /// Footnote where no stream was asked for.
    WhyNotStreamed,

    /// Heading: objectives.
    Objectives,
    /// `{share}` of the requests.
    ShareOfRequests,
    /// Met.
    Met,
    /// Missed.
    Missed,
    /// Neither can be said.
    Undecided,
    /// Key: share of requests that met all.
    Attainment,
    /// `{share}` of all requests, `{asked}` asked.
    AttainmentAsked,

    /// Heading: failures.
    Failures,
    /// After a failure's class: HTTP `{status}`.
    HttpStatus,
    /// Heading: reasons to distrust the run.
    Doubts,
    /// Heading: the same where the run is invalid.
    WhyInvalid,
    /// Severity: worth knowing.
    SeverityNote,
    /// Severity: the numbers may mislead.
    SeverityWarn,
    /// Severity: the run is invalid.
    SeverityInvalid,
    /// Heading: change over a soak.
    Drift,
    /// Column: begin of a part.
    From,
    /// Column: complete answers.
    Ok,
    /// Column: failures.
    Failed,
    /// Column: output tokens a second.
    OutputRate,
    /// Column: median TTFT.
    TtftMedian,
    /// Key: the run directory.
    Saved,
    /// Key: the command that repeats the run.
    Repeat,
    /// Heading: definitions.
    Definitions,

    /// Definition of request throughput.
    RequestsMeans,
    /// Definition of output throughput.
    OutputTokensMeans,
    /// Definition of total throughput.
    TotalTokensMeans,
    /// Definition of goodput.
    GoodputMeans,
    /// Definition of attainment.
    AttainmentMeans,
    /// Definition of TTFT in an open loop.
    TtftMeansOpen,
    /// Definition of TTFT in a closed loop.
    TtftMeansClosed,
    /// Definition of TTFT from sending.
    TtftFromSentMeans,
    /// Definition of the first answer.
    FirstAnswerMeans,
    /// Definition of the second token.
    SecondTokenMeans,
    /// Definition of TPOT.
    TpotMeans,
    /// Definition of ITL.
    ItlMeans,
    /// Definition of the gap between chunks.
    InterChunkMeans,
    /// Definition of the largest gap.
    MaxGapMeans,
    /// Definition of end-to-end latency in an open loop.
    E2eMeansOpen,
    /// Definition of end-to-end latency in a closed loop.
    E2eMeansClosed,
    /// Definition of connect.
    ConnectMeans,
    /// Definition of lag.
    LagMeans,
    /// Definition of the wait at the cap.
    CapWaitMeans,
    /// Definition of in-flight.
    InFlightMeans,
    /// Definition of the speed of one user.
    PerUserMeans,
    /// Key of the definition of percentiles.
    Percentiles,
    /// Definition of percentiles.
    PercentilesMeans,
    /// Definition of intervals.
    IntervalMeans,

    /// `runs`: column of names.
    RunName,
    /// `runs`: column of labels.
    RunLabel,
    /// `runs`: column of times.
    When,
    /// `runs`: column of verdicts.
    Verdict,
    /// `runs`: nothing there.
    NoRuns,

    /// `doctor`: key of the host.
    Host,
    /// `doctor`: `{cpu}`, `{cores}` cores.
    HostIs,
    /// `doctor`: key of the ceiling.
    Ceiling,
    /// `doctor`: `{one}` token events a second, `{batched}` in batches.
    CeilingIs,
    /// `doctor`: heading of the errors.
    StampErrors,
    /// `doctor`: column of streams.
    Streams,
    /// `doctor`: column of the load.
    TokenEvents,
    /// `doctor`: what the table means.
    StampErrorsMean,
    /// `doctor`: where the certificate is kept.
    Kept,
    /// `doctor`: what it is good for.
    KeptFor,
    /// `doctor URL`: key of what the server understands.
    Understands,
    /// `doctor URL`: key of what it refuses.
    Refuses,
    /// `doctor URL`: key of its models.
    ServedModels,
    /// `doctor URL`: key of the longest context.
    Context,
    /// `doctor URL`: `{count}` tokens.
    ContextIs,
    /// `doctor URL`: nothing.
    Nothing,

    /// `data`: key of the file.
    Data,
    /// `data`: key of what was recognised.
    ReadAs,
    /// `data`: `{format}`, found.
    FormatFound,
    /// `data`: `{format}`, given.
    FormatGiven,
    /// `data`: packed with `{packing}`.
    PackedWith,
    /// `data`: key of the rows.
    Rows,
    /// `data`: `{usable}` of `{seen}`.
    RowsUsable,
    /// `data`: `{count}` that hold nothing to send.
    RowsUnusable,
    /// `data`: `{count}` that cannot be read.
    RowsBad,
    /// `data`: `{count}` below the shortest.
    RowsTooShort,
    /// `data`: `{count}` above the longest.
    RowsTooLong,
    /// `data`: `{count}` against the filter.
    RowsByFilter,
    /// `data`: no more was to be read.
    RowsLimited,
    /// `data`: tokens as `{tokenizer}` counts.
    TokensBy,
    /// `data`: tokens as `{tokenizer}` counts, which nobody chose.
    TokensByDefault,
    /// `data`: key of a trace's times.
    Arrivals,
    /// `data`: over `{time}`, `{rate}` a second.
    ArrivalsOf,
    /// `data`: all at the same time.
    ArrivalsAtOnce,
    /// `data`: gaps vary by `{variation}`.
    GapsVary,
    /// `data`: heading of a histogram.
    PromptChars,
    /// `data`: heading of a histogram.
    PromptTokens,
    /// `data`: heading of a histogram.
    AnswerTokens,
    /// `data`: heading of a histogram.
    TurnsOf,
    /// `data`: lengths in numbers.
    LengthsOf,
    /// `data`: all of one length.
    LengthAll,
    /// `data`: heading of the first prompts.
    FirstPrompts,
    /// `data`: heading of the rows that cannot be read.
    BadRows,
    /// `data`: the `{line}` of one.
    BadLine,
    /// `data`: `{count}` that are not listed.
    MoreBadRows,
    /// `data`: what a run does with them.
    BadRowsRemedy,
    /// `data`: key of what was converted.
    Written,
    /// `data`: `{count}` to `{file}`.
    WrittenTo,
    /// `data`: `{count}` that the other format cannot hold.
    WrittenNot,
    /// Heading: answers by the length that came.
    ByActualLength,
    /// Column: share of the asked length.
    OfAsked,
    /// Column: how many answers.
    Answers,
    /// Column: mean characters.
    MeanChars,
    /// Column: mean tokens.
    MeanTokens,
    /// Column: output tokens a second of one user.
    PerUserRate,
    /// Column: mean latency.
    MeanE2e,
    /// Below `{to}`.
    ShareBelow,
    /// From `{from}` to `{to}`.
    ShareBetween,
    /// From `{from}` on.
    ShareAbove,
    /// Key: asked and actual length.
    Asked,
    /// `{asked}` characters, and `{mean}` came.
    AskedOf,
    /// Key: answers that are none.
    ShortAnswers,
    /// `{refused}` and `{short}`.
    ShortAnswersOf,
    /// Key: the template's own size.
    TemplateSize,
    /// `{chars}` of each prompt.
    TemplateChars,
    /// `{chars}` and `{tokens}` of each prompt.
    TemplateCharsTokens,
}

impl Label {
    /// The text in a language.
    pub fn text(self, lang: Lang) -> &'static str {
        match lang {
            Lang::En | Lang::Zh => self.english(),
        }
    }

    fn english(self) -> &'static str {
        match self {
            Label::Valid => "VALID",
            Label::Invalid => "INVALID",
            Label::Unfinished => "no end",
            Label::NoDoubts => "nothing speaks against these numbers",
            Label::OneWarning => "1 warning",
            Label::Warnings => "{count} warnings",
            Label::OneNote => "1 note",
            Label::Notes => "{count} notes",
            Label::OneMoreReason => "and 1 more reason",
            Label::MoreReasons => "and {count} more reasons",
            Label::NoReasonStored => "no reason is stored",
            Label::ObjectivesMet => "objectives met",
            Label::ObjectivesMissed => "objectives MISSED: {list}",
            Label::ObjectivesUndecided => "objectives undecided: {list}",
            Label::AttainmentMissed => "attainment",

            Label::Run => "Run",
            Label::Server => "Server",
            Label::SimulatedEngine => "simulated engine at",
            Label::Model => "Model",
            Label::Api => "API",
            Label::Streamed => "streamed",
            Label::NotStreamed => "not streamed",
            Label::Load => "Load",
            Label::ClosedLoop => "closed loop, concurrency {streams}",
            Label::Spread => "first wave spread over {time}",
            Label::AllAtOnce => "first wave all at once",
            Label::OpenLoop => "open loop, {rate} req/s",
            Label::OpenLoopTalks => "open loop, {rate} conversations/s",
            Label::OpenLoopAtOnce => "open loop, all requests at once",
            Label::ArrivalConstant => "constant gaps",
            Label::ArrivalPoisson => "Poisson arrivals",
            Label::ArrivalGamma => "gamma arrivals of burstiness {burstiness}",
            Label::RampLinear => "linear ramp from {rate} req/s over {time}",
            Label::RampExponential => "exponential ramp from {rate} req/s over {time}",
            Label::Replay => "trace replayed at {speed} × its own pace",
            Label::Cap => "at most {cap} in flight",
            Label::Work => "Work",
            Label::SyntheticPrompts => "synthetic prompts of {length} tokens",
            Label::PairPrompts => "synthetic prompts and answers of {pairs} tokens",
            Label::DataPrompts => "{format} rows of {file}",
            Label::TracePrompts => "synthetic prompts of the lengths in {file} ({format})",
            Label::Continuation => {
                "pieces of {length} from {file} in a template that asks for {ask} characters"
            }
            Label::EmbeddedText => "an embedded text",
            Label::InTokens => "{count} tokens",
            Label::InChars => "{count} characters",
            Label::SharedTokens => "{groups} shared beginnings of {tokens} tokens",
            Label::SharedShare => "{groups} shared beginnings of {share} of each prompt",
            Label::ChineseText => "in Chinese",
            Label::AsTokenIds => "sent as token ids",
            Label::Conversations => "conversations of {turns} turns",
            Label::WholeConversations => "conversations",
            Label::Think => "{time} to think between turns",
            Label::AnswersFromWork => "answers as long as the data say, else of up to 128 tokens",
            Label::AnswersFree => "answers that end by themselves",
            Label::OnePrompt => "one prompt: {text}",
            Label::DistinctPrompts => "{count} distinct",
            Label::NewPrompts => "new in every run",
            Label::AnswersExact => "answers of exactly {length} tokens",
            Label::AnswersUpTo => "answers of up to {length} tokens",
            Label::Temperature => "temperature {value}",
            Label::TopP => "top-p {value}",
            Label::Extent => "Extent",
            Label::ExtentPart => "the chosen part of the trace",
            Label::ExtentAll => "the whole trace",
            Label::ExtentRequests => "{count} requests",
            Label::ExtentDuration => "sending for {time}",
            Label::ExtentEither => "{count} requests or {time}, whichever ends first",
            Label::ExtentSoak => "soak of {time}",
            Label::WarmupRequests => "after {warmup} to warm up",
            Label::WarmupTime => "after {time} of warm-up",
            Label::NoWarmup => "no warm-up",
            Label::MeasuredFor => "measured for {time}",
            Label::EndedBySignal => "stopped by the user",
            Label::EndedPrecise => "known precisely enough",
            Label::EndedByCondition => "ended by a stop condition",
            Label::EndedByWatchdog => "ended by the watchdog",
            Label::EndedByKill => "killed before its end",
            Label::Note => "Note",

            Label::Result => "Result",
            Label::Interval => "95 % interval",
            Label::SteadyState => "steady ({time})",
            Label::Requests => "Request throughput",
            Label::OutputTokens => "Output throughput",
            Label::TotalTokens => "Total throughput",
            Label::Goodput => "Goodput",
            Label::Median => "{metric}, median",
            Label::Accounts => "Requests",
            Label::Resent => {
                "{count} found their connection closed by the server and were sent again on a new one"
            }
            Label::AccountsOf => {
                "{ok} ok, {failed} failed, {cut} cut, {unsent} unsent; {planned} planned"
            }
            Label::InFlight => "In flight",
            Label::InFlightOf => "mean {mean}, peak {peak}, of {configured} configured",
            Label::InFlightFree => "mean {mean}, peak {peak}",
            Label::Tokens => "Tokens",
            Label::TokensOf => "{input} in, {output} out",
            Label::CountedByServer => "as the server counts",
            Label::CountedByUs => "output counted by us after the run",
            Label::NotCounted => "no count of output tokens to be had",
            Label::CachedShare => "{share} of the input from the prefix cache",
            Label::Lengths => "Lengths",
            Label::InputLength => "mean {mean} in",
            Label::InputLengthAsked => "mean {mean} in ({asked} asked)",
            Label::OutputLength => "mean {mean} out",
            Label::OutputLengthAsked => "mean {mean} out ({asked} asked)",
            Label::CharsPerToken => "{mean} characters a token",
            Label::PerUser => "Per user",
            Label::PerUserOf => "mean {mean} tok/s, p50 {median}, slowest {least}",
            Label::DecodeOf => "decode p50 {median} tok/s, slowest {least}",
            Label::Client => "Client",
            Label::ClientLag => "{lag} late at p99",
            Label::ClientCpu => "busiest thread at {share} CPU",
            Label::ClientCeiling => "{share} of its own ceiling",

            Label::Latency => "Latency",
            Label::Mean => "mean",
            Label::Max => "max",
            Label::Ttft => "TTFT",
            Label::TtftFromSent => "TTFT from sent",
            Label::FirstAnswer => "first answer",
            Label::SecondToken => "second token",
            Label::Tpot => "TPOT",
            Label::Itl => "ITL",
            Label::InterChunk => "inter-chunk",
            Label::MaxGap => "max gap",
            Label::E2e => "E2E",
            Label::Connect => "connect",
            Label::Lag => "lag",
            Label::CapWait => "cap wait",
            Label::TooFew => "* too few samples for this percentile ({least})",
            Label::NothingAnswered => {
                "No request was answered: there is no throughput and no latency."
            }
            Label::WhyNotStreamed => {
                "n/a: without a stream, only the end of an answer can be timed"
            }

            Label::Objectives => "Objectives",
            Label::ShareOfRequests => "{share} of requests",
            Label::Met => "met",
            Label::Missed => "MISSED",
            Label::Undecided => "undecided",
            Label::Attainment => "Attainment",
            Label::AttainmentAsked => {
                "{share} of all requests met every objective of a request ({asked} asked)"
            }

            Label::Failures => "Failures",
            Label::HttpStatus => "HTTP {status}",
            Label::Doubts => "Doubts",
            Label::WhyInvalid => "Why these numbers must not be used",
            Label::SeverityNote => "note",
            Label::SeverityWarn => "warn",
            Label::SeverityInvalid => "INVALID",
            Label::Drift => "Drift",
            Label::From => "from",
            Label::Ok => "ok",
            Label::Failed => "failed",
            Label::OutputRate => "output tok/s",
            Label::TtftMedian => "TTFT p50",
            Label::Saved => "Saved",
            Label::Repeat => "Repeat",
            Label::Definitions => "Definitions",

            Label::RequestsMeans => {
                "complete answers a second, from the first send to the last completion"
            }
            Label::OutputTokensMeans => {
                "output tokens of complete answers a second, over the same window; steady: by \
                 token events inside the steady state"
            }
            Label::TotalTokensMeans => {
                "prompt and output tokens of complete answers a second, over the same window"
            }
            Label::GoodputMeans => "requests a second that meet every objective of a request",
            Label::AttainmentMeans => {
                "share of all requests that meet every objective of a request; failures are misses"
            }
            Label::TtftMeansOpen => {
                "first chunk with a real token (content, reasoning or tool call; not role-only, \
                 empty or usage) minus the time at which the request was due"
            }
            Label::TtftMeansClosed => {
                "first chunk with a real token (content, reasoning or tool call; not role-only, \
                 empty or usage) minus the time of sending"
            }
            Label::TtftFromSentMeans => {
                "the same, minus the time of sending: without lag and cap wait"
            }
            Label::FirstAnswerMeans => "as TTFT, to the first token that is not reasoning",
            Label::SecondTokenMeans => "second chunk with a token minus the first",
            Label::TpotMeans => {
                "(last token - first token) / (output tokens - 1), for each request with more \
                 than one token"
            }
            Label::ItlMeans => "gap between chunks with tokens, weighted by their tokens",
            Label::InterChunkMeans => {
                "gap between chunks with tokens; chunks are not tokens here, because the tokens \
                 in each are not known"
            }
            Label::MaxGapMeans => "largest gap between two chunks of a request: shows stalls",
            Label::E2eMeansOpen => {
                "last token or finishing chunk minus the time at which the request was due"
            }
            Label::E2eMeansClosed => "last token or finishing chunk minus the time of sending",
            Label::ConnectMeans => "time to open a connection, TLS included; not part of lag",
            Label::LagMeans => {
                "sent minus due, without cap wait and connecting: the client's own lateness"
            }
            Label::CapWaitMeans => {
                "wait at --max-concurrency; part of TTFT and E2E, because a user would feel it"
            }
            Label::InFlightMeans => {
                "requests under way, from an exact sweep over begins and ends, weighted by time"
            }
            Label::PerUserMeans => {
                "output tokens of an answer over its E2E latency; decode: 1 / TPOT; the slowest \
                 is the one to look at"
            }
            Label::Percentiles => "Percentiles",
            Label::PercentilesMeans => {
                "linear interpolation (Hyndman-Fan type 7); a tail needs 44 samples for p90, 90 \
                 for p95, 459 for p99 to be claimed with 99 % confidence"
            }
            Label::IntervalMeans => "block bootstrap over requests in order of their start",

            Label::RunName => "name",
            Label::RunLabel => "label",
            Label::When => "when",
            Label::Verdict => "verdict",
            Label::NoRuns => "No runs here yet.",
            Label::Host => "Host",
            Label::HostIs => "{cpu}, {cores} cores",
            Label::Ceiling => "Ceiling",
            Label::CeilingIs => {
                "{one} token events/s a worker where each comes in its own write, {batched} in \
                 writes of sixteen"
            }
            Label::StampErrors => "Time-stamp error",
            Label::Streams => "streams",
            Label::TokenEvents => "tok/s",
            Label::StampErrorsMean => {
                "How long after the server's write each token was stamped, against a server that \
                 only writes."
            }
            Label::Kept => "Kept",
            Label::KeptFor => "{path}; runs are held against it",
            Label::Understands => "Understands",
            Label::Refuses => "Refuses",
            Label::ServedModels => "Models",
            Label::Context => "Context",
            Label::ContextIs => "{count} tokens",
            Label::Nothing => "nothing that was tried",

            Label::Data => "Data",
            Label::ReadAs => "Read as",
            Label::FormatFound => "{format} (found from the content)",
            Label::FormatGiven => "{format} (as given)",
            Label::PackedWith => "packed with {packing}",
            Label::Rows => "Rows",
            Label::RowsUsable => "{usable} usable of {seen} read",
            Label::RowsUnusable => "{count} without a usable prompt or answer",
            Label::RowsBad => "{count} bad",
            Label::RowsTooShort => "{count} shorter than --min-prompt",
            Label::RowsTooLong => "{count} longer than --max-prompt",
            Label::RowsByFilter => "{count} against --filter",
            Label::RowsLimited => "the rest not read (--limit)",
            Label::TokensBy => "counted with {tokenizer}",
            Label::TokensByDefault => {
                "counted with {tokenizer}, as none was chosen; give the model's own with --tokenizer"
            }
            Label::Arrivals => "Arrivals",
            Label::ArrivalsOf => "over {time}, {rate} a second on average",
            Label::ArrivalsAtOnce => "all at the same time",
            Label::GapsVary => {
                "burstiness {variation} (deviation of the gaps / their mean; 1 is Poisson)"
            }
            Label::PromptChars => "Prompts in characters",
            Label::PromptTokens => "Prompts in tokens",
            Label::AnswerTokens => "Answers in tokens",
            Label::TurnsOf => "Turns of conversations",
            Label::LengthsOf => "mean {mean}, p50 {p50}, p90 {p90}, p99 {p99}, from {min} to {max}",
            Label::LengthAll => "all {count} have {length}",
            Label::FirstPrompts => "First prompts",
            Label::BadRows => "Bad rows",
            Label::BadLine => "line {line}",
            Label::MoreBadRows => "and {count} more",
            Label::BadRowsRemedy => {
                "A run stops at the first of them; with --skip-bad it goes on without them."
            }
            Label::Written => "Written",
            Label::WrittenTo => "{count} rows to {file}",
            Label::WrittenNot => {
                "{count} left out, as they are more than one prompt (several messages, or a body without one)"
            }
            Label::ByActualLength => "Answers by actual length",
            Label::OfAsked => "of the asked length",
            Label::Answers => "answers",
            Label::MeanChars => "characters",
            Label::MeanTokens => "tokens",
            Label::PerUserRate => "tok/s each",
            Label::MeanE2e => "E2E mean",
            Label::ShareBelow => "below {to}",
            Label::ShareBetween => "{from} to {to}",
            Label::ShareAbove => "{from} and more",
            Label::Asked => "Asked",
            Label::AskedOf => "{asked} characters, in words; {mean} came on average ({share})",
            Label::ShortAnswers => "Odd answers",
            Label::ShortAnswersOf => {
                "{refused} open like a refusal, {short} have less than a tenth of the asked length"
            }
            Label::TemplateSize => "Template",
            Label::TemplateChars => "{chars} characters of each prompt",
            Label::TemplateCharsTokens => "{chars} characters, {tokens} tokens of each prompt",
        }
    }
}
