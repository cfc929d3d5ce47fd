// The Java kit: what a program under test needs to speak with wirefault.
//
// The work is the first line on stdin; reports go to stdout, a line each. A program
// ends when `main` has returned and no thread of a library keeps it; so that a request
// which a library's daemon threads still have in hand is sent, and seen, it waits for
// `finish` first. Only java.base and what the client itself needs.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

final class Kit {
    private static final long PROTOCOL = 1;
    /** Bytes of a body that a report quotes. */
    private static final int START = 256;
    /** Links after which an error chain is cut. */
    private static final int LONGEST = 16;

    private Kit() {}

    /** Thrown by a client that cannot do the work. */
    static final class Unsupported extends Exception {
        Unsupported(String reason) {
            super(reason);
        }
    }

    /** A list of events ended, in whatever order, before its last one. */
    static final class StreamEnded extends IOException {
        StreamEnded() {
            super("the list ended before its last event");
        }
    }

    /** What a client showed its caller: a status, and a body that is yet to be read. */
    record Answer(int status, InputStream body) {}

    /** What the work tells the client to keep to; null: its own default. */
    record Limits(Long connectMs, Long idleMs, Long totalMs, Long redirects) {}

    /** Makes one call. A call that is cancelled finds its thread interrupted, unless it has
     * said how it is to be ended. */
    interface Client {
        Answer make(Call call) throws Exception;
    }

    /** Makes the one client of the work. */
    interface Prepare {
        Client client(Limits limits) throws Exception;
    }

    /** One call of the work. */
    static final class Call {
        private final Map<String, Object> given;
        final long id;
        final String method;
        final String url;
        final boolean streamsBody;
        /** Whether the answer is a list of events, to be handed on as it comes. */
        final boolean streams;
        private Thread thread;
        private Runnable end;
        private boolean cancelled;

        Call(Map<String, Object> given) {
            this.given = given;
            id = (Long) given.get("id");
            method = (String) given.get("method");
            url = (String) given.get("url");
            streams = given.get("stream") != null;
            streamsBody = Boolean.TRUE.equals(given.get("stream_body"));
        }

        /** The header fields, with the call's number. */
        List<String[]> headers() {
            List<String[]> fields = new ArrayList<>();
            for (Object field : (List<?>) given.getOrDefault("headers", List.of())) {
                List<?> pair = (List<?>) field;
                fields.add(new String[] {(String) pair.get(0), (String) pair.get(1)});
            }
            fields.add(new String[] {"Wirefault-Call", Long.toString(id)});
            return fields;
        }

        /** The content; null where there is none. */
        byte[] content() throws IOException {
            Map<?, ?> body = (Map<?, ?>) given.get("body");
            if (body == null) return null;
            Object file = body.get("file");
            if (file != null) return Files.readAllBytes(Path.of((String) file));
            return ((String) body.get("text")).getBytes(StandardCharsets.UTF_8);
        }

        /** How the client ends this call when its caller wants it no more, where an
         * interrupt is not its way. */
        synchronized void onCancel(Runnable end) {
            this.end = end;
            if (cancelled) end.run();
        }

        private synchronized void begins() {
            thread = Thread.currentThread();
            if (cancelled) thread.interrupt();
        }

        private synchronized void cancel() {
            cancelled = true;
            if (end != null) end.run();
            else if (thread != null) thread.interrupt();
        }

        /** The thread's next call is not interrupted by an order for this one. */
        private synchronized void ends() {
            thread = null;
            end = null;
            Thread.interrupted();
        }

        private synchronized boolean isCancelled() {
            return cancelled;
        }

        private long number(String key, long otherwise) {
            return (Long) given.getOrDefault(key, otherwise);
        }
    }

    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    /** Writes one message: a whole line, out at once. */
    private static synchronized void send(Map<String, ?> message) {
        StringBuilder line = new StringBuilder();
        Json.write(message, line);
        OUT.print(line.append('\n'));
        OUT.flush();
    }

    private static void progress(Call call, String state) {
        send(Map.of("progress", Map.of("call", call.id, "state", state)));
    }

    /** Makes all calls of the work: group after group, and in a group so many at the
     * same time as `at_once` says. */
    static void run(Prepare prepare) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line = lines.readLine();
        if (line == null) throw new IOException("no work on stdin: wirefault starts this program");
        Map<String, Object> work = Json.map(line);
        if (!work.get("protocol").equals(PROTOCOL)) {
            throw new IOException("protocol version " + work.get("protocol") + ", this client speaks " + PROTOCOL);
        }
        List<List<Call>> groups = groups((List<?>) work.get("calls"));
        Controls controls = new Controls(lines, groups);
        Map<?, ?> limits = (Map<?, ?>) work.get("limits");
        Client client = prepare.client(new Limits(
            (Long) limits.get("connect_ms"), (Long) limits.get("idle_ms"),
            (Long) limits.get("total_ms"), (Long) limits.get("redirects")));
        for (List<Call> group : groups) {
            Unsupported unsupported = workOff(group, client);
            if (unsupported != null) {
                send(Map.of("unsupported", Map.of("reason", unsupported.getMessage())));
                return;
            }
        }
        controls.finished.await();
    }

    /** Calls that are made beside each other; one without a group is alone. */
    @SuppressWarnings("unchecked")
    private static List<List<Call>> groups(List<?> calls) {
        List<List<Call>> all = new ArrayList<>();
        long last = 0;
        for (Object given : calls) {
            Call call = new Call((Map<String, Object>) given);
            long group = call.number("group", 0);
            if (group == 0 || group != last) all.add(new ArrayList<>());
            all.get(all.size() - 1).add(call);
            last = group;
        }
        return all;
    }

    /** Whoever is free takes the next one. */
    private static Unsupported workOff(List<Call> group, Client client) throws InterruptedException {
        Iterator<Call> waiting = group.iterator();
        List<Unsupported> unsupported = new ArrayList<>();
        List<Thread> workers = new ArrayList<>();
        for (long n = group.get(0).number("at_once", 1); n > 0; n--) {
            Thread worker = new Thread(() -> {
                while (true) {
                    Call call;
                    synchronized (waiting) {
                        if (!waiting.hasNext() || !unsupported.isEmpty()) return;
                        call = waiting.next();
                    }
                    try {
                        one(call, client);
                    } catch (Unsupported error) {
                        synchronized (waiting) {
                            unsupported.add(error);
                        }
                    }
                }
            });
            workers.add(worker);
            worker.start();
        }
        for (Thread worker : workers) worker.join();
        return unsupported.isEmpty() ? null : unsupported.get(0);
    }

    /** Makes one call and reports it. */
    private static void one(Call call, Client client) throws Unsupported {
        Map<?, ?> stream = (Map<?, ?>) call.given.get("stream");
        Events events = stream == null ? null : new Events((String) stream.get("ends_with"));
        Map<String, Object> shown;
        String state = "failed";
        call.begins();
        try {
            Thread.sleep(call.number("pause_ms", 0));
            progress(call, "pending");
            Answer answer = client.make(call);
            boolean good = answer.status() / 100 == 2;
            shown = Map.of("response", describe(answer, good ? events : null));
            if (good) state = "succeeded";
        } catch (Unsupported error) {
            throw error;
        } catch (Exception | OutOfMemoryError error) {
            shown = call.isCancelled() ? Map.of("cancelled", Map.of()) : Map.of("error", chain(error));
        } finally {
            call.ends();
        }
        progress(call, state);
        Map<String, Object> report = new LinkedHashMap<>();
        report.put("call", call.id);
        report.put("shown", shown);
        if (events != null) report.put("events", events.ids);
        send(Map.of("report", report));
    }

    /** Reads an answer to its end and describes it without keeping it. */
    private static Map<String, Object> describe(Answer answer, Events events)
            throws IOException, NoSuchAlgorithmException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        ByteArrayOutputStream first = new ByteArrayOutputStream();
        long length = 0;
        byte[] piece = new byte[16384];
        try (InputStream body = answer.body()) {
            for (int read; (read = body.read(piece)) >= 0; length += read) {
                digest.update(piece, 0, read);
                first.write(piece, 0, Math.min(read, START - first.size()));
                if (events != null) events.take(piece, read);
            }
        }
        if (events != null) events.end();
        StringBuilder hex = new StringBuilder();
        for (byte one : digest.digest()) hex.append(String.format("%02x", one));
        return Map.of(
            "status", (long) answer.status(),
            "body_bytes", length,
            "body_sha256", hex.toString(),
            "body_start", first.toString(StandardCharsets.UTF_8));
    }

    /** The chain of an error and its causes, outermost first. */
    private static List<Object> chain(Throwable error) {
        List<Object> links = new ArrayList<>();
        String at = "error";
        for (; error != null && links.size() < LONGEST; error = error.getCause()) {
            Map<String, Object> link = new LinkedHashMap<>();
            link.put("type", error.getClass().getName());
            if (error.getMessage() != null) link.put("message", error.getMessage());
            link.put("at", at);
            links.add(link);
            at += ".getCause()";
        }
        return links;
    }

    /** What the harness says after the work. */
    private static final class Controls {
        /** The end of stdin counts as `finish`, since nothing more can come. */
        final CountDownLatch finished = new CountDownLatch(1);
        private final Map<Long, Call> calls = new HashMap<>();

        Controls(BufferedReader lines, List<List<Call>> groups) {
            for (List<Call> group : groups) for (Call call : group) calls.put(call.id, call);
            Thread reader = new Thread(() -> {
                try {
                    follow(lines);
                } catch (IOException error) {
                    // Nothing more can come.
                } finally {
                    finished.countDown();
                }
            });
            reader.setDaemon(true);
            reader.start();
        }

        private void follow(BufferedReader lines) throws IOException {
            for (String line; (line = lines.readLine()) != null; ) {
                Map<String, Object> said = Json.map(line);
                if (said.containsKey("finish")) return;
                if (said.get("cancel") instanceof Map<?, ?> cancel) calls.get(cancel.get("call")).cancel();
            }
        }
    }

    /** Reads a list of server-sent events (WHATWG HTML, section 9.2.6) as it comes. */
    private static final class Events {
        /** Ids of the events that the caller was given. */
        final List<Object> ids = new ArrayList<>();
        private final String endsWith;
        private final ByteArrayOutputStream line = new ByteArrayOutputStream();
        private boolean afterCr;
        private boolean begun;
        private boolean ended;
        private String id;
        private String data;

        Events(String endsWith) {
            this.endsWith = endsWith;
        }

        void take(byte[] piece, int length) {
            for (int n = 0; n < length; n++) {
                boolean wasCr = afterCr;
                afterCr = piece[n] == '\r';
                if (piece[n] == '\n' && wasCr) continue;
                if (piece[n] == '\r' || piece[n] == '\n') {
                    endLine(line.toString(StandardCharsets.UTF_8));
                    line.reset();
                } else {
                    line.write(piece[n]);
                }
            }
        }

        /** The list is over: it must have come to its last event. */
        void end() throws StreamEnded {
            if (endsWith != null && !ended) throw new StreamEnded();
        }

        private void endLine(String text) {
            if (!begun && text.startsWith("\ufeff")) text = text.substring(1);
            begun = true;
            if (text.isEmpty()) {
                if (data != null) {
                    if (id != null) ids.add(id);
                    ended |= data.equals(endsWith);
                }
                id = data = null;
                return;
            }
            int colon = text.indexOf(':');
            String field = colon < 0 ? text : text.substring(0, colon);
            String value = colon < 0 ? "" : text.substring(colon + 1);
            if (value.startsWith(" ")) value = value.substring(1);
            if (field.equals("id") && value.indexOf('\0') < 0) id = value;
            if (field.equals("data")) data = data == null ? value : data + "\n" + value;
        }
    }

    /** As much of JSON as the protocol needs; the JDK has none. Numbers are whole. */
    private static final class Json {
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        @SuppressWarnings("unchecked")
        static Map<String, Object> map(String text) {
            return (Map<String, Object>) new Json(text).value();
        }

        private char next() {
            while (Character.isWhitespace(text.charAt(at))) at++;
            return text.charAt(at);
        }

        private Object value() {
            switch (next()) {
                case '{': return object();
                case '[': return list();
                case '"': return string();
                case 't': at += 4; return true;
                case 'f': at += 5; return false;
                case 'n': at += 4; return null;
                default: return number();
            }
        }

        private Map<String, Object> object() {
            Map<String, Object> object = new HashMap<>();
            at++;
            while (next() != '}') {
                String key = string();
                next();
                at++;
                Object value = value();
                if (value != null) object.put(key, value);
                if (next() == ',') at++;
                next();
            }
            at++;
            return object;
        }

        private List<Object> list() {
            List<Object> list = new ArrayList<>();
            at++;
            while (next() != ']') {
                list.add(value());
                if (next() == ',') at++;
            }
            at++;
            return list;
        }

        private Long number() {
            int from = at;
            while (at < text.length() && "+-0123456789".indexOf(text.charAt(at)) >= 0) at++;
            return Long.valueOf(text.substring(from, at));
        }

        private String string() {
            StringBuilder string = new StringBuilder();
            next();
            at++;
            for (char one; (one = text.charAt(at++)) != '"'; ) {
                if (one != '\\') {
                    string.append(one);
                    continue;
                }
                one = text.charAt(at++);
                int plain = "bfnrt".indexOf(one);
                if (plain >= 0) {
                    string.append("\b\f\n\r\t".charAt(plain));
                } else if (one == 'u') {
                    string.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                    at += 4;
                } else {
                    string.append(one);
                }
            }
            return string.toString();
        }

        static void write(Object value, StringBuilder to) {
            String between = "";
            if (value instanceof Map<?, ?> map) {
                to.append('{');
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    to.append(between);
                    write(entry.getKey(), to);
                    to.append(':');
                    write(entry.getValue(), to);
                    between = ",";
                }
                to.append('}');
            } else if (value instanceof List<?> list) {
                to.append('[');
                for (Object one : list) {
                    to.append(between);
                    write(one, to);
                    between = ",";
                }
                to.append(']');
            } else if (value instanceof String text) {
                to.append('"');
                for (char one : text.toCharArray()) {
                    if (one == '"' || one == '\\') {
                        to.append('\\').append(one);
                    } else if (one < ' ' || Character.isSurrogate(one)) {
                        to.append(String.format("\\u%04x", (int) one));
                    } else {
                        to.append(one);
                    }
                }
                to.append('"');
            } else {
                to.append(value);
            }
        }
    }
}
