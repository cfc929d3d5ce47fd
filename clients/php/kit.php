<?php
// The PHP kit: what a program under test needs to speak with wirefault.
//
// The work is the first line on stdin; reports go to stdout, a line each. PHP closes
// its connections when it ends, under the hands of a server that has yet to answer, so
// it waits for `finish` once all calls have reported. Only what PHP always has.

declare(strict_types=1);

const PROTOCOL = 1;
/** Bytes of a body that a report quotes. */
const START = 256;

/** A failure as the client under test words it: links of a chain, outermost first,
 * each with `type`, `code`, `errno` and `message` as far as there are such. */
final class Failure extends Exception
{
    /** @param list<array<string, int|string>> $links */
    public function __construct(public readonly array $links)
    {
        parent::__construct('the call failed');
    }
}

/** Writes one message: a whole line, out at once. */
function send(array $message): void
{
    fwrite(STDOUT, json_encode($message, JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
    fflush(STDOUT);
}

function progress(array $call, string $state): void
{
    send(['progress' => ['call' => $call['id'], 'state' => $state]]);
}

/**
 * Makes all calls of the work, one after the other.
 *
 * `$make($call, $limits)` makes one call and returns a status and a whole body, or
 * throws; a Failure, if the client throws nothing by itself.
 */
function run(callable $make): void
{
    $line = fgets(STDIN);
    if ($line === false) {
        fail('no work on stdin: wirefault starts this program');
    }
    $work = json_decode($line, true, flags: JSON_THROW_ON_ERROR);
    if ($work['protocol'] !== PROTOCOL) {
        fail("protocol version {$work['protocol']}, this client speaks " . PROTOCOL);
    }
    $reason = beyond($work['calls']);
    if ($reason !== null) {
        send(['unsupported' => ['reason' => $reason]]);
        return;
    }
    foreach ($work['calls'] as $call) {
        one($call, $make, $work['limits']);
    }
    // The end of stdin counts as `finish`, since nothing more can come.
    do {
        $line = fgets(STDIN);
    } while ($line !== false && !isset(json_decode($line, true)['finish']));
}

function fail(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}

/** What in these calls nothing here can do. */
function beyond(array $calls): ?string
{
    foreach ($calls as $call) {
        if (($call['at_once'] ?? 1) > 1) {
            return 'calls are made one at a time';
        }
        if (isset($call['stream'])) {
            return 'lists of events are not read';
        }
        if ($call['resumable'] ?? false) {
            return 'uploads are not resumed';
        }
    }
    return null;
}

/** Makes one call and reports it. */
function one(array $call, callable $make, array $limits): void
{
    if (($call['pause_ms'] ?? 0) > 0) {
        usleep($call['pause_ms'] * 1000);
    }
    progress($call, 'pending');
    try {
        [$status, $body] = $make($call, $limits);
        $shown = ['response' => shown($status, $body)];
        $state = $status === null || intdiv($status, 100) === 2 ? 'succeeded' : 'failed';
    } catch (Throwable $error) {
        $shown = ['error' => chain($error)];
        $state = 'failed';
    }
    progress($call, $state);
    send(['report' => ['call' => $call['id'], 'shown' => $shown]]);
}

/** A client may show no status, where the answer had none. */
function shown(?int $status, string $body): array
{
    $shown = [
        'body_bytes' => strlen($body),
        'body_sha256' => hash('sha256', $body),
        'body_start' => substr($body, 0, START),
    ];
    return $status === null ? $shown : ['status' => $status] + $shown;
}

/** The chain of an error and what it came from, outermost first. */
function chain(Throwable $error): array
{
    if ($error instanceof Failure) {
        $links = $error->links;
        foreach ($links as $number => &$link) {
            $link['at'] = $number === 0 ? 'error' : "error[$number]";
        }
        return $links;
    }
    $links = [];
    for ($at = 'error'; $error !== null; $at .= '.getPrevious()') {
        $links[] = ['type' => $error::class, 'message' => $error->getMessage(), 'at' => $at];
        $error = $error->getPrevious();
    }
    return $links;
}

/** The header fields of a call as lines, with its number. */
function header_lines(array $call): array
{
    $fields = [...($call['headers'] ?? []), ['Wirefault-Call', (string) $call['id']]];
    return array_map(fn ($field) => "$field[0]: $field[1]", $fields);
}

/** The content of a call: bytes, or null. */
function content(array $call): ?string
{
    $body = $call['body'] ?? null;
    if ($body === null) {
        return null;
    }
    return isset($body['file']) ? file_get_contents($body['file']) : $body['text'];
}
