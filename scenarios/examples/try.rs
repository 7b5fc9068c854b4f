use std::sync::Arc;
use vivarium_model::explore::recipes::{Budget, Recipes};
use vivarium_model::explore::{Ending, Options, Silent, Strategy, search};
use vivarium_model::handle::program;
use vivarium_model::time::Duration;
use vivarium_recipes::lock::{self, LockWork, Mutant, Mutants, lock_worker};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let num = |at: usize| args.get(at).and_then(|a| a.parse::<u8>().ok()).unwrap_or(0);
    let mutants: Mutants = args.get(6).and_then(|m| Mutant::parse(m)).into_iter().collect();
    let work =
        LockWork { hold: Duration::ZERO, cancel: num(4) > 0, mutants, ..LockWork::new("/lock") };
    let programs = (0..num(1))
        .map(|_| {
            let work = work.clone();
            let lean = std::env::var("LEAN").unwrap_or_default();
            program(move |z| {
                let (work, lean) = (work.clone(), lean.clone());
                async move {
                    if lean.is_empty() {
                        return lock_worker(z, work).await;
                    }
                    let lock = lock::Lock::new(z.clone(), "/lock", work.mutants);
                    loop {
                        z.checkpoint(&0);
                        match lock.acquire().await {
                            Ok(guard) => {
                                match lean.as_str() {
                                    "a" => {
                                        let _ = guard
                                            .while_held(z.write_resource(
                                                "r",
                                                Some(guard.token().0),
                                                0,
                                            ))
                                            .await;
                                    }
                                    "b" => {
                                        let _ =
                                            z.write_resource("r", Some(guard.token().0), 0).await;
                                    }
                                    _ => {
                                        z.now().await;
                                    }
                                }
                                guard.release().await;
                                return Ok(());
                            }
                            Err(lock::AcquireError::SessionExpired) => {}
                            Err(e) => return Err(e.to_string()),
                        }
                    }
                }
            })
        })
        .collect();
    let budget = Budget { lost: num(2), expiries: num(3), cancels: num(4), ..Budget::default() };
    let mut model = Recipes::new(
        programs,
        lock::monitors("/lock", Duration::ZERO),
        ["/counter", "/lock"].map(Arc::from),
        budget,
    );
    if args.get(7).is_some_and(|a| a == "full") {
        model = model.without_reductions();
    }
    if std::env::var("DUMP").is_ok() {
        use stateright::Model as _;
        use std::collections::*;
        let mut seen = HashSet::new();
        let mut queue = VecDeque::from(model.init_states());
        let (mut c, mut s, mut w, mut cs, mut cw) =
            (HashSet::new(), HashSet::new(), HashSet::new(), HashSet::new(), HashSet::new());
        while let Some(x) = queue.pop_front() {
            if !seen.insert(x.fingerprint()) {
                continue;
            }
            let d = x.debug();
            c.insert((d.0.clone(), d.3));
            s.insert(d.1);
            w.insert(d.2);
            cs.insert((d.0.clone(), d.3, d.1));
            cw.insert((d.0.clone(), d.3, d.2));
            let mut a = vec![];
            model.actions(&x, &mut a);
            for a in a {
                queue.push_back(model.next_state(&x, a).unwrap());
            }
        }
        println!(
            "states {} clients {} shared {} watchers {} c+s {} c+w {}",
            seen.len(),
            c.len(),
            s.len(),
            w.len(),
            cs.len(),
            cw.len()
        );
        return;
    }
    let mut options = Options::new(Strategy::BreadthFirst);
    options.threads = std::num::NonZero::new(num(5).max(1) as usize).unwrap();
    options.max_states =
        Some(std::env::var("MAX").ok().and_then(|m| m.parse().ok()).unwrap_or(30_000_000));
    let outcome = search(&model, &options, &Silent);
    println!("{:?}", outcome.statistics);
    println!("{:?}", model.pieces());
    println!("{:?} rate {}", model.trie().statistics(), outcome.statistics.generated_per_second());
    match &outcome.ending {
        Ending::Violated(c) => {
            println!("{:?} length {}", c.objection, c.length);
            for line in model.trace(&model.all_steps(c)).0 {
                println!("{:>3} {}", line.number, line.step);
                for n in line.notes {
                    println!("       {n}");
                }
                for e in line.events {
                    println!("       * {e}");
                }
            }
        }
        e => println!("{e:?}"),
    }
}
