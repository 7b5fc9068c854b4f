/**
 * Known suspicions about Curator, each with the one fault that provokes it. Every case has servers of its own, and prints
 * one line: its name, and what happened. `--only` selects cases by their names.
 */
final class Directed {
    private interface Case<S> {
        String run(S scene) throws Exception;
    }

    private interface Maker<S> {
        S make(Options options, Ensemble ensemble, Client a, Client b);
    }

    private final Options options;

    private Directed(Options options) {
        this.options = options;
    }

    public static void main(String[] arguments) throws Exception {
        Options options = Options.of(arguments);
        Journal.open(options.folder.resolve("journal.log"));
        Directed directed = new Directed(options);
        for (String fate : new String[] {"lost-applied", "lost-never", "lost-pending"}) {
            directed.locks("mutex-create-" + fate, scene -> scene.mutex(fate));
            directed.locks("latch-create-" + fate, scene -> scene.latch(fate));
            directed.locks("semaphore-create-" + fate, scene -> scene.semaphore(fate));
            directed.others("double-barrier-create-" + fate, scene -> scene.doubleBarrier(fate));
            directed.others("atomic-long-set-" + fate, scene -> scene.atomicLong(fate));
            directed.others("shared-count-set-" + fate, scene -> scene.sharedCount(fate));
            directed.others("queue-locked-claim-" + fate, scene -> scene.claim(fate));
            directed.others("queue-delete-" + fate, scene -> scene.take(fate));
            directed.others("queue-put-" + fate, scene -> scene.put(fate));
        }
        for (String fate : new String[] {"lost-applied", "lost-never"}) {
            directed.locks("mutex-create-lost-twice-then-" + fate, scene -> scene.mutexTwice(fate));
        }
        directed.locks("mutex-expired-while-held", LockCases::expiredMutex);
        directed.locks("latch-expired-while-leading", LockCases::expiredLatch);
        directed.locks("mutex-create-applied-and-expired", LockCases::straddledMutex);
        directed.locks("semaphore-straddles-two-sessions", LockCases::straddledSemaphore);
        directed.locks("read-write-downgrade-before-a-writer", LockCases::downgrade);
        directed.others("double-barrier-timed-out-member", OtherCases::timedOutMember);
        directed.others("shared-value-recreated", OtherCases::recreatedValue);
        directed.others("caches-recreated", OtherCases::recreated);
        Runtime.getRuntime().halt(0);
    }

    private void locks(String name, Case<LockCases> which) throws Exception {
        run(name, LockCases::new, which);
    }

    private void others(String name, Case<OtherCases> which) throws Exception {
        run(name, OtherCases::new, which);
    }

    private <S> void run(String name, Maker<S> maker, Case<S> which) throws Exception {
        if (!options.only.isEmpty() && !options.only.contains(name)) {
            return;
        }
        Journal.note("case " + name);
        Ensemble ensemble = new Ensemble(options);
        Client a = new Client(0, ensemble, options);
        Client b = new Client(1, ensemble, options);
        String result;
        try {
            a.curator.blockUntilConnected();
            b.curator.blockUntilConnected();
            result = which.run(maker.make(options, ensemble, a, b));
        } catch (Exception failure) {
            result = "failed: " + failure;
            Journal.note(result);
        }
        System.out.println("{\"case\": " + Tallies.quoted(name) + ", \"result\": " + Tallies.quoted(result) + "}");
        ensemble.stop();
        // Without servers, closing takes as long as all retries.
        Thread closing = new Thread(() -> {
            a.close();
            b.close();
        });
        closing.setDaemon(true);
        closing.start();
    }
}
