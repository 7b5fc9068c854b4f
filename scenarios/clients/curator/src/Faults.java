import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** The faults of a seed: of servers, unless `vivarium serve --chaos` draws these, and of the clients' sessions. */
final class Faults implements Runnable {
    private static final String[] FATES = {"lost-applied", "lost-never", "lost-pending"};
    private static final String[] REQUESTS = {"create", "create", "delete", "setData", "getChildren"};
    private final Ensemble ensemble;
    private final List<Client> clients;
    private final Options options;
    private final Random random;
    private volatile boolean stopped;

    Faults(Ensemble ensemble, List<Client> clients, Options options) {
        this.ensemble = ensemble;
        this.clients = clients;
        this.options = options;
        random = new Random(options.seed);
    }

    void stop() {
        stopped = true;
    }

    @Override
    public void run() {
        // Each kind has a random sequence of its own, so that one does not shift the other.
        Random ofServers = new Random(random.nextLong());
        Random ofSessions = new Random(random.nextLong());
        double server = Journal.now() + 300;
        double session = Journal.now() + 300;
        List<String> pending = new ArrayList<>();
        try {
            while (!stopped) {
                Thread.sleep(2);
                if (!options.chaosOfServe && Journal.now() >= server) {
                    server = Journal.now() + 100 + ofServers.nextInt(1_200);
                    if (pending.isEmpty()) {
                        String[] fault = drawn(ofServers);
                        say(fault[0]);
                        pending.add(fault[1]);
                    } else {
                        say(pending.remove(0));
                    }
                }
                if (!options.chaosOfServe && options.sessionFaults && Journal.now() >= session) {
                    session = Journal.now() + 50 + ofSessions.nextInt(500);
                    say(drawnForSession(ofSessions));
                }
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** A fault and the command that ends it. */
    private static String[] drawn(Random random) {
        int server = 1 + random.nextInt(3);
        int other = 1 + server % 3;
        int third = 1 + other % 3;
        switch (random.nextInt(7)) {
            case 0: return new String[] {"crash " + server, "restart " + server};
            case 1: return new String[] {"power-loss " + server, "restart " + server};
            case 2: return new String[] {"pause " + server, "resume " + server};
            case 3: return new String[] {"partition " + server + " | " + other + " " + third, "heal"};
            case 4: return new String[] {"partition-one-way " + server + " " + other, "heal"};
            case 5: return new String[] {"slow-disk " + server + " " + random.nextInt(200) + "ms", "slow-disk " + server + " 0ms"};
            default: return new String[] {"disconnect-all", "heal"};
        }
    }

    private String drawnForSession(Random random) {
        Client client = clients.get(random.nextInt(clients.size()));
        String session = "0x" + Long.toHexString(client.session());
        int kind = random.nextInt(12);
        if (kind == 0) {
            return "expire " + session;
        }
        if (kind < 3) {
            return "disconnect " + session;
        }
        return "next-reply " + session + " " + REQUESTS[random.nextInt(REQUESTS.length)] + " " + FATES[random.nextInt(FATES.length)];
    }

    private void say(String command) {
        try {
            if (command.equals("disconnect-all")) {
                for (Client client : clients) {
                    say("disconnect 0x" + Long.toHexString(client.session()));
                }
                return;
            }
            Journal.note("fault: " + command + " -> " + ensemble.command(command));
        } catch (IOException unheard) {
            Journal.note("fault: " + command + " failed: " + unheard);
        }
    }
}
