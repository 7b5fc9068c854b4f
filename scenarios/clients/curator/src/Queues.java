import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.MultiItem;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueuePutListener;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.state.ConnectionState;

/** Workers that put items into a queue and consume them, without lock safety (at most once) and with it (at least once). */
final class Queues {
    private Queues() {}

    static void add(Run run, Client client) {
        run.add(new Queue("queue", false, client, run));
        run.add(new Queue("queue-locked", true, client, run));
    }

    /** What all clients together know of one queue. */
    static final class Ledger {
        final Set<String> asked = ConcurrentHashMap.newKeySet();
        final Set<String> acknowledged = ConcurrentHashMap.newKeySet();
        final Map<String, Integer> taken = new ConcurrentHashMap<>();
    }

    private static final class Queue extends Worker {
        private final boolean locked;
        private final Ledger ledger;
        private final Ensemble ensemble;
        private DistributedQueue<String> queue;
        private int losses;
        private int next;

        Queue(String recipe, boolean locked, Client client, Run run) {
            super(recipe, client, run);
            this.locked = locked;
            ledger = run.ledgers.computeIfAbsent(recipe, any -> new Ledger());
            ensemble = run.ensemble;
        }

        private void restart() throws Exception {
            if (queue != null) {
                queue.close();
            }
            losses = client.losses();
            QueueBuilder<String> builder = QueueBuilder.builder(client.curator, new Consumer(), new Text(), "/" + recipe);
            if (locked) {
                builder.lockPath("/" + recipe + "-locks");
            }
            queue = builder.buildQueue();
            queue.getPutListenerContainer().addListener(new QueuePutListener<String>() {
                @Override
                public void putCompleted(String item) {
                    ledger.acknowledged.add(item);
                    tally.count("puts acknowledged");
                }

                @Override
                public void putMultiCompleted(MultiItem<String> items) {}
            });
            queue.start();
        }

        /** A queue is permanently down at LOST, as Curator's documentation says: another one is started then. */
        @Override
        void turn() throws Exception {
            if (queue == null || losses != client.losses()) {
                doing("starts");
                restart();
            }
            if (quiet) {
                doing("puts nothing more");
                sleep(20, 20);
                return;
            }
            String item = client.number + "-" + next++;
            doing("puts " + item);
            ledger.asked.add(item);
            queue.put(item);
            progress();
            sleep(20, 120);
        }

        @Override
        boolean mustProgress() {
            return false;
        }

        /** Every acknowledged item must have been delivered; without lock safety its loss is only counted. */
        @Override
        String settles() throws Exception {
            List<String> missing = new ArrayList<>();
            for (String item : ledger.acknowledged) {
                if (item.startsWith(client.number + "-") && !ledger.taken.containsKey(item)) {
                    missing.add(item);
                }
            }
            if (missing.isEmpty()) {
                return null;
            }
            List<String> children = client.curator.getChildren().forPath("/" + recipe);
            String claims = locked && client.stat("/" + recipe + "-locks") != null
                    ? ", claims: " + client.curator.getChildren().forPath("/" + recipe + "-locks") : "";
            return "acknowledged items were never delivered: " + missing + ", znodes of the queue: " + children + claims;
        }

        private final class Consumer implements QueueConsumer<String> {
            @Override
            public void consumeMessage(String item) throws Exception {
                tally.count("beliefs");
                Journal.note("took " + item + " of " + recipe);
                if (!locked) {
                    ensemble.observe(String.format(
                            "{\"observer\": \"client %d/%s\", \"session\": \"0x%x\", \"says\": \"taken\", \"fields\": {\"queue\": \"%s\", \"item\": \"%s\"}}",
                            client.number, recipe, client.session(), recipe, item));
                }
                if (ledger.taken.merge(item, 1, Integer::sum) == 2) {
                    tally.count("items delivered twice");
                    Journal.note("item " + item + " of " + recipe + " was delivered twice");
                }
            }

            @Override
            public void stateChanged(CuratorFramework curator, ConnectionState next) {}
        }

    }

    private static final class Text implements QueueSerializer<String> {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    }

    /** Queues of a directed test, and how often an item has been delivered. */
    static final class Probe {
        final CountDownLatch taken = new CountDownLatch(1);
        volatile int count;

        DistributedQueue<String> queue(Client client, String path, String lockPath, boolean consumes) throws Exception {
            QueueConsumer<String> consumer = !consumes ? null : new QueueConsumer<String>() {
                @Override
                public synchronized void consumeMessage(String item) {
                    count++;
                    taken.countDown();
                }

                @Override
                public void stateChanged(CuratorFramework curator, ConnectionState next) {}
            };
            QueueBuilder<String> builder = QueueBuilder.builder(client.curator, consumer, new Text(), path);
            if (lockPath != null) {
                builder.lockPath(lockPath);
            }
            DistributedQueue<String> queue = builder.buildQueue();
            queue.start();
            return queue;
        }
    }
}
