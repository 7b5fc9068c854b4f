import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.zookeeper.data.Stat;

/** Workers that lead for a while. A belief to lead ends at SUSPENDED, as Curator's documentation recommends. */
final class Leaders {
    private Leaders() {}

    static void add(Run run, Client client) {
        run.add(new Latch(client, run));
        run.add(new Selector(client, run));
    }

    /** Believes what `hasLeadership()` says, until that, the listener or the connection says otherwise. */
    private static final class Latch extends Worker {
        private final Belief belief;
        private LeaderLatch latch;

        Latch(Client client, Run run) {
            super("leader-latch", client, run);
            belief = new Belief(client, recipe, true, run.ensemble, run.checker);
        }

        @Override
        void turn() throws Exception {
            if (latch == null) {
                doing("starts its latch");
                latch = new LeaderLatch(client.curator, "/leader-latch", name());
                latch.addListener(new LeaderLatchListener() {
                    @Override
                    public void isLeader() {}

                    @Override
                    public void notLeader() {
                        belief.released("by notLeader");
                    }
                });
                latch.start();
            }
            doing("waits to lead");
            while (!latch.hasLeadership() && !isStopped()) {
                Thread.sleep(3);
            }
            doing("leads");
            boolean led = !isStopped() && lead();
            if (led || isStopped()) {
                belief.released("by itself");
                doing("closes its latch");
                LeaderLatch closed = latch;
                latch = null;
                closed.close();
                sleep(quiet ? 50 : 0, quiet ? 100 : 30);
            }
        }

        @Override
        String scene() throws Exception {
            LeaderLatch present = latch;
            StringBuilder text = new StringBuilder("; its znode is " + (present == null ? null : Inside.path(present)) + ";");
            client.sync("/leader-latch");
            for (String child : client.curator.getChildren().forPath("/leader-latch")) {
                Stat stat = client.stat("/leader-latch/" + child);
                text.append(stat == null ? " gone" : String.format(" %s (czxid 0x%x, session 0x%x)", child, stat.getCzxid(),
                        stat.getEphemeralOwner()));
            }
            return text.toString();
        }

        private boolean lead() throws Exception {
            String path = Inside.path(latch);
            Stat stat = path == null ? null : client.stat(path);
            if (!latch.hasLeadership()) {
                return false;
            }
            if (stat == null) {
                tally.count("leads without a znode");
                Journal.note("leads, but " + path + " is not there");
                return false;
            }
            if (!belief.granted(List.of("/leader-latch"), "/leader-latch", "alone", 1, stat)) {
                return false;
            }
            progress();
            long end = System.nanoTime() + (quiet ? 5 : 5 + random.nextInt(200)) * 1_000_000L;
            while (belief.holds() && latch.hasLeadership() && System.nanoTime() < end) {
                Thread.sleep(3);
            }
            // A latch that lost its leadership is kept: it must lead again by itself.
            return belief.holds();
        }

        @Override
        String leaves() throws Exception {
            client.sync("/leader-latch");
            List<String> left = client.stat("/leader-latch") == null
                    ? List.of() : client.curator.getChildren().forPath("/leader-latch");
            return left.isEmpty() ? null : "a znode of no latch is left: " + left;
        }
    }

    private static final class Selector extends Worker {
        private final Belief belief;
        private LeaderSelector selector;

        Selector(Client client, Run run) {
            super("leader-selector", client, run);
            belief = new Belief(client, recipe, true, run.ensemble, run.checker);
        }

        @Override
        void start() {
            selector = new LeaderSelector(client.curator, "/leader-selector", new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework curator) throws Exception {
                    try {
                        lead();
                    } finally {
                        belief.released("by itself");
                    }
                }
            });
            selector.setId(name());
            selector.autoRequeue();
            selector.start();
            doing("waits to lead");
        }

        private void lead() throws Exception {
            String path = Inside.path(selector);
            Stat stat = path == null ? null : client.stat(path);
            if (stat == null) {
                tally.count("leads without a znode");
                Journal.note("leads, but " + path + " is not there");
                return;
            }
            if (belief.granted(List.of("/leader-selector"), "/leader-selector", "alone", 1, stat)) {
                progress();
                sleep(2, quiet ? 50 : 100);
            }
        }

        @Override
        void turn() throws Exception {
            Thread.sleep(20);
            if (isStopped()) {
                selector.close();
            }
        }

        @Override
        String leaves() throws Exception {
            client.sync("/leader-selector");
            List<String> left = client.stat("/leader-selector") == null
                    ? List.of() : client.curator.getChildren().forPath("/leader-selector");
            return left.isEmpty() ? null : "a znode of no selector is left: " + left;
        }
    }
}
