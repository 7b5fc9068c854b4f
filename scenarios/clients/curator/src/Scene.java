import org.apache.zookeeper.data.Stat;

/** Servers and two clients for one directed case. */
abstract class Scene {
    final Options options;
    final Ensemble ensemble;
    final Client a;
    final Client b;

    Scene(Options options, Ensemble ensemble, Client a, Client b) {
        this.options = options;
        this.ensemble = ensemble;
        this.a = a;
        this.b = b;
    }

    interface Condition {
        boolean holds();
    }

    /** Decides the fate of the next request of this kind. */
    void next(Client client, String request, String fate) throws Exception {
        String answer = ensemble.command("next-reply " + session(client) + " " + request + " " + fate);
        Journal.note("next-reply " + request + " " + fate + " -> " + answer);
    }

    static String session(Client client) {
        return "0x" + Long.toHexString(client.session());
    }

    /** The children, each with the transaction that created it and with its session. */
    String children(Client client, String path) throws Exception {
        client.sync(path);
        StringBuilder text = new StringBuilder("[");
        for (String child : client.curator.getChildren().forPath(path)) {
            Stat stat = client.stat(path + "/" + child);
            if (stat != null) {
                text.append(String.format(" %s (czxid 0x%x, session 0x%x)", child, stat.getCzxid(), stat.getEphemeralOwner()));
            }
        }
        return text.append(" ]").toString();
    }

    /** Waits until the condition holds, for at most some ten seconds. */
    static void await(Condition condition) throws InterruptedException {
        for (int at = 0; at < 10_000 && !condition.holds(); at++) {
            Thread.sleep(1);
        }
    }
}
