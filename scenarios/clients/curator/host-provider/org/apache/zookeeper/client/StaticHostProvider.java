package org.apache.zookeeper.client;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Collection;

/**
 * The servers of a connect string, one after another. It stands in the place of the class of this name of ZooKeeper 3.4, which
 * reads the text of an address and finds no server by Java 14 and later (ZOOKEEPER-3779).
 */
public final class StaticHostProvider implements HostProvider {
    private final InetSocketAddress[] servers;
    private int next;
    private int failed;

    public StaticHostProvider(Collection<InetSocketAddress> servers) {
        this.servers = servers.toArray(new InetSocketAddress[0]);
        // Clients that start together begin at different servers.
        next = (int) (System.nanoTime() & 0xffff) % this.servers.length;
    }

    @Override
    public int size() {
        return servers.length;
    }

    @Override
    public InetSocketAddress next(long pause) {
        if (failed++ >= servers.length) {
            failed = 1;
            sleep(pause);
        }
        InetSocketAddress server = servers[next];
        next = (next + 1) % servers.length;
        try {
            return new InetSocketAddress(InetAddress.getByName(server.getHostString()), server.getPort());
        } catch (UnknownHostException unknown) {
            return server;
        }
    }

    @Override
    public void onConnected() {
        failed = 0;
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException ending) {
            Thread.currentThread().interrupt();
        }
    }
}
