import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.TreeCache;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** Workers that change the subtree `/cache`, and caches that must equal it when the changes have ended. */
final class Caches {
    static final String ROOT = "/cache";

    private Caches() {}

    static void add(Run run, Client client) {
        run.add(new Changer(client, run));
        for (Object[] view : views(client)) {
            run.add(new Viewer((String) view[0], (View) view[1], client, run));
        }
    }

    /** All caches that this version has, each as its name and its view. */
    static List<Object[]> views(Client client) {
        List<Object[]> views = new ArrayList<>();
        views.add(new Object[] {"path-children-cache", new Children(client)});
        views.add(new Object[] {"tree-cache", new Tree(client)});
        views.add(new Object[] {"node-cache", new Node(client)});
        try {
            views.add(new Object[] {"curator-cache",
                Class.forName("CuratorCacheView").getDeclaredConstructor(Client.class).newInstance(client)});
        } catch (ReflectiveOperationException | LinkageError old) {
            Journal.note("no CuratorCache in this version");
        }
        return views;
    }

    /** The data with the transaction that wrote it: a znode that is created again with equal data is not the same. */
    static String stamped(byte[] data, Stat stat) {
        return (data == null ? "null" : new String(data, StandardCharsets.UTF_8)) + "@" + Long.toHexString(stat.getMzxid());
    }

    /** Creates, sets and deletes `/cache/a` to `/cache/d` and a child of each, until healing. */
    private static final class Changer extends Worker {
        private int next;

        Changer(Client client, Run run) {
            super("cache-changer", client, run);
        }

        @Override
        void start() throws Exception {
            try {
                client.curator.create().forPath(ROOT, bytes());
            } catch (KeeperException.NodeExistsException there) {
                Journal.note(ROOT + " is there");
            }
        }

        @Override
        void turn() throws Exception {
            if (quiet) {
                Thread.sleep(20);
                return;
            }
            String child = ROOT + "/" + (char) ('a' + random.nextInt(4));
            String path = random.nextInt(3) == 0 ? child + "/below" : child;
            doing("changes " + path);
            try {
                switch (random.nextInt(8)) {
                    case 0: case 1: case 2:
                        client.curator.create().forPath(path, bytes());
                        break;
                    case 3: case 4:
                        client.curator.setData().forPath(path, bytes());
                        break;
                    case 5:
                        client.curator.setData().forPath(ROOT, bytes());
                        break;
                    default:
                        client.curator.delete().forPath(path);
                }
            } catch (KeeperException.NoNodeException | KeeperException.NodeExistsException
                    | KeeperException.NotEmptyException asDrawn) {
                tally.count("changes without effect");
            }
            progress();
            sleep(10, 60);
        }

        private byte[] bytes() {
            return (client.number + "-" + next++).getBytes(StandardCharsets.UTF_8);
        }

        @Override
        boolean mustProgress() {
            return false;
        }
    }

    private static final class Viewer extends Worker {
        private final View view;

        Viewer(String recipe, View view, Client client, Run run) {
            super(recipe, client, run);
            this.view = view;
        }

        @Override
        void start() throws Exception {
            while (client.stat(ROOT) == null) {
                Thread.sleep(5);
            }
            view.start();
        }

        @Override
        void turn() throws Exception {
            doing("views");
            Thread.sleep(20);
        }

        @Override
        boolean mustProgress() {
            return false;
        }

        @Override
        String settles() throws Exception {
            client.sync(ROOT);
            Map<String, String> tree = new TreeMap<>();
            read(ROOT, tree);
            tree.keySet().removeIf(path -> !covers(path));
            tally.count("comparisons");
            Map<String, String> shown = view.shown();
            if (!shown.equals(tree)) {
                return "client " + client.number + " shows " + shown + " instead of " + tree;
            }
            Map<String, String> told = view.told();
            return told.equals(tree) ? null : "client " + client.number + " was told " + told + " instead of " + tree;
        }

        private boolean covers(String path) {
            switch (recipe) {
                case "path-children-cache": return path.lastIndexOf('/') == ROOT.length();
                case "node-cache": return path.equals(ROOT + "/a");
                default: return true;
            }
        }

        private void read(String path, Map<String, String> into) throws Exception {
            Stat stat = new Stat();
            byte[] data = client.curator.getData().storingStatIn(stat).forPath(path);
            into.put(path, stamped(data, stat));
            List<String> children = new ArrayList<>(client.curator.getChildren().forPath(path));
            for (String child : children) {
                read(path + "/" + child, into);
            }
        }
    }

    private static Map<String, String> texts(Iterable<ChildData> all) {
        Map<String, String> texts = new TreeMap<>();
        for (ChildData data : all) {
            texts.put(data.getPath(), stamped(data.getData(), data.getStat()));
        }
        return texts;
    }

    private static final class Children implements View {
        private final PathChildrenCache cache;
        private final Map<String, String> told = new ConcurrentSkipListMap<>();

        Children(Client client) {
            cache = new PathChildrenCache(client.curator, ROOT, true);
            cache.getListenable().addListener((framework, event) -> {
                Journal.note("path-children-cache " + client.number + " " + event);
                ChildData data = event.getData();
                switch (event.getType()) {
                    case CHILD_ADDED: case CHILD_UPDATED:
                        told.put(data.getPath(), stamped(data.getData(), data.getStat()));
                        break;
                    case CHILD_REMOVED:
                        told.remove(data.getPath());
                        break;
                    default:
                }
            });
        }

        @Override
        public void start() throws Exception {
            cache.start();
        }

        @Override
        public Map<String, String> shown() {
            return texts(cache.getCurrentData());
        }

        @Override
        public Map<String, String> told() {
            return new TreeMap<>(told);
        }

        @Override
        public void close() throws Exception {
            cache.close();
        }
    }

    private static final class Tree implements View {
        private final TreeCache cache;
        private final Map<String, String> told = new ConcurrentSkipListMap<>();

        Tree(Client client) {
            cache = new TreeCache(client.curator, ROOT);
            cache.getListenable().addListener((framework, event) -> {
                Journal.note("tree-cache " + client.number + " " + event);
                ChildData data = event.getData();
                switch (event.getType()) {
                    case NODE_ADDED: case NODE_UPDATED:
                        told.put(data.getPath(), stamped(data.getData(), data.getStat()));
                        break;
                    case NODE_REMOVED:
                        told.remove(data.getPath());
                        break;
                    default:
                }
            });
        }

        @Override
        public void start() throws Exception {
            cache.start();
        }

        @Override
        public Map<String, String> shown() {
            Map<String, String> shown = new TreeMap<>();
            collect(ROOT, shown);
            return shown;
        }

        private void collect(String path, Map<String, String> into) {
            ChildData data = cache.getCurrentData(path);
            if (data == null) {
                return;
            }
            into.put(path, stamped(data.getData(), data.getStat()));
            Map<String, ChildData> children = cache.getCurrentChildren(path);
            if (children != null) {
                for (String child : children.keySet()) {
                    collect(path + "/" + child, into);
                }
            }
        }

        @Override
        public Map<String, String> told() {
            return new TreeMap<>(told);
        }

        @Override
        public void close() {
            cache.close();
        }
    }

    private static final class Node implements View {
        private final NodeCache cache;
        private volatile ChildData told;

        Node(Client client) {
            cache = new NodeCache(client.curator, ROOT + "/a");
            cache.getListenable().addListener(() -> {
                told = cache.getCurrentData();
                Journal.note("node-cache " + client.number + " " + told);
            });
        }

        @Override
        public void start() throws Exception {
            cache.start();
        }

        @Override
        public Map<String, String> shown() {
            ChildData data = cache.getCurrentData();
            return texts(data == null ? List.of() : List.of(data));
        }

        @Override
        public Map<String, String> told() {
            ChildData data = told;
            return texts(data == null ? List.of() : List.of(data));
        }

        @Override
        public void close() throws Exception {
            cache.close();
        }
    }
}
