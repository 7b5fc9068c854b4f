use super::*;
use proptest::prelude::*;

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![Just(Who::Leader), (1..6u8).prop_map(|id| Who::Server(ServerId(id)))]
}

fn client() -> impl Strategy<Value = ClientId> {
    (1..9u8).prop_map(|id| ClientId(id.into()))
}

fn span() -> impl Strategy<Value = Duration> {
    (0..10_000_000u64).prop_map(Duration::from_micros)
}

fn moment() -> impl Strategy<Value = Moment> {
    let client = || prop::option::of(client());
    let request = prop::option::of(prop::sample::select(vec!["create", "setData", "getChildren"]));
    let path = prop::option::of(prop::sample::select(vec!["/", "/a: b", "/lock/x-"]));
    // A path with a space cannot be said.
    let path = path.prop_map(|path| path.filter(|path| !path.contains(' ')).map(str::to_string));
    prop_oneof![
        Just(Moment::Established),
        (client(), "[a-z-]{1,9}").prop_map(|(client, name)| Moment::Observes { client, name }),
        (client(), request, path).prop_map(|(client, request, path)| Moment::Sends {
            client,
            request: request.map(str::to_string),
            path
        }),
    ]
}

fn when() -> impl Strategy<Value = When> {
    let which = prop_oneof![Just(Which::Each), (1..300u32).prop_map(Which::Nth)];
    prop_oneof![
        span().prop_map(When::At),
        (which, moment()).prop_map(|(which, moment)| When::Upon(which, moment))
    ]
}

fn what() -> impl Strategy<Value = What> {
    let groups = prop::collection::vec(prop::collection::vec(who(), 1..4), 1..4);
    prop_oneof![
        who().prop_map(What::Crash),
        who().prop_map(What::PowerLoss),
        who().prop_map(What::Rejoin),
        who().prop_map(What::DiskFull),
        who().prop_map(What::StallDisk),
        groups.prop_map(What::Partition),
        (who(), who()).prop_map(|(from, to)| What::PartitionOneWay(from, to)),
        client().prop_map(What::Pause),
        client().prop_map(What::Kill),
        client().prop_map(What::Cancel),
        client().prop_map(What::Expire),
        client().prop_map(What::Disconnect),
        prop::sample::select(vec![Lost::Applied, Lost::Never, Lost::Pending])
            .prop_map(What::LoseReply),
    ]
}

proptest! {
    /// A rule is printed as it is written, unless it makes no sense.
    #[test]
    fn rules_are_read_as_they_are_printed(
        when in when(),
        what in what(),
        lasts in prop::option::of(span()),
    ) {
        let rule = Rule { when, what, lasts };
        let text = rule.to_string();
        match text.parse::<Rule>() {
            Ok(read) => prop_assert_eq!(&read, &rule, "{}", text),
            Err(sentence) => prop_assert_eq!(Some(sentence), rule.check().err(), "{}", text),
        }
    }

    /// Whatever is written is read or refused in a sentence that quotes it.
    #[test]
    fn other_lines_are_refused(line in "(at|when|each time|client|1|2s|:|: |crash|leader|for|sends| ){1,12}") {
        if let Err(sentence) = line.parse::<Rule>() {
            prop_assert!(sentence.contains(&line), "{}", sentence);
        }
    }
}
