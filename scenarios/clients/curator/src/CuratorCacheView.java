import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;

/** `CuratorCache`, which versions before 5.0 have not; it is compiled and loaded only where it exists. */
final class CuratorCacheView implements View {
    private final CuratorCache cache;
    private final Map<String, String> told = new ConcurrentSkipListMap<>();

    CuratorCacheView(Client client) {
        cache = CuratorCache.build(client.curator, Caches.ROOT);
        cache.listenable().addListener((type, before, after) -> {
            Journal.note("curator-cache " + client.number + " " + type + " " + before + " -> " + after);
            if (after == null) {
                told.remove(before.getPath());
            } else {
                told.put(after.getPath(), text(after));
            }
        });
    }

    @Override
    public void start() {
        cache.start();
    }

    @Override
    public Map<String, String> shown() {
        Map<String, String> shown = new TreeMap<>();
        cache.stream().forEach(data -> shown.put(data.getPath(), text(data)));
        return shown;
    }

    @Override
    public Map<String, String> told() {
        return new TreeMap<>(told);
    }

    @Override
    public void close() {
        cache.close();
    }

    private static String text(ChildData data) {
        return Caches.stamped(data.getData(), data.getStat());
    }
}
