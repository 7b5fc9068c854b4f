import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.TreeSet;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** Workers with a znode that must be there as long as they want it, whatever happens to their sessions. */
final class Nodes {
    private Nodes() {}

    static void add(Run run, Client client) {
        run.add(new Persistent(client, run));
        run.add(new Member(client, run));
    }

    private static final class Persistent extends Worker {
        private final String path;
        private PersistentNode node;
        private String latest;
        private int next;

        Persistent(Client client, Run run) {
            super("persistent-node", client, run);
            path = "/persistent-node-" + client.number;
        }

        @Override
        void turn() throws Exception {
            String data = client.number + "-" + next++;
            if (node == null) {
                doing("starts its node");
                latest = data;
                node = new PersistentNode(client.curator, CreateMode.EPHEMERAL, false, path, bytes(data));
                node.start();
            } else if (quiet || random.nextInt(8) > 0) {
                doing("sets " + data);
                latest = null;
                node.setData(bytes(data));
                latest = data;
                progress();
            } else {
                doing("closes its node");
                PersistentNode closed = node;
                node = null;
                closed.close();
            }
            sleep(20, 300);
        }

        /** The znode is there, is of the present session, and has the data that was set last. */
        @Override
        String settles() throws Exception {
            client.sync(path);
            Stat stat = new Stat();
            try {
                client.curator.getData().storingStatIn(stat).forPath(path);
            } catch (KeeperException.NoNodeException missing) {
                return path + " is not there";
            }
            return stat.getEphemeralOwner() == client.session()
                    ? null : String.format("%s is of session 0x%x instead of 0x%x", path, stat.getEphemeralOwner(), client.session());
        }

        /** After the last set the znode has that data; it goes when the node is closed. */
        @Override
        String leaves() throws Exception {
            client.sync(path);
            if (node != null) {
                String stored;
                try {
                    stored = new String(client.curator.getData().forPath(path), StandardCharsets.UTF_8);
                } catch (KeeperException.NoNodeException missing) {
                    return path + " is not there";
                }
                if (latest != null && !stored.equals(latest)) {
                    return path + " has " + stored + " instead of " + latest;
                }
                node.close();
                node = null;
                return "closed just now";
            }
            return client.stat(path) == null ? null : path + " is there after close()";
        }

        private static byte[] bytes(String text) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
    }

    private static final class Member extends Worker {
        private final int clients;
        private GroupMember member;

        Member(Client client, Run run) {
            super("group-member", client, run);
            clients = run.options.clients;
        }

        @Override
        void turn() throws Exception {
            if (member == null) {
                doing("joins");
                member = new GroupMember(client.curator, "/group-member", "client-" + client.number);
                member.start();
            } else if (!quiet && random.nextInt(10) == 0) {
                doing("leaves");
                GroupMember left = member;
                member = null;
                left.close();
            } else {
                doing("is a member");
            }
            sleep(50, 300);
        }

        @Override
        boolean mustProgress() {
            return false;
        }

        @Override
        String settles() {
            Set<String> expected = new TreeSet<>();
            for (int number = 0; number < clients; number++) {
                expected.add("client-" + number);
            }
            if (member == null) {
                return "has not joined";
            }
            tally.count("comparisons");
            Set<String> shown = new TreeSet<>(member.getCurrentMembers().keySet());
            return shown.equals(expected) ? null : "client " + client.number + " shows " + shown;
        }
    }
}
