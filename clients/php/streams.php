<?php
// file_get_contents with PHP's own http stream wrapper, as its manual shows it.

declare(strict_types=1);

require __DIR__ . '/kit.php';

function level(int $type): string
{
    return [E_WARNING => 'E_WARNING', E_NOTICE => 'E_NOTICE'][$type] ?? "E_$type";
}

run(function (array $call, array $limits): array {
    $options = [
        'method' => $call['method'],
        'header' => header_lines($call),
        // A status that PHP does not like is an answer too.
        'ignore_errors' => true,
    ];
    $content = content($call);
    if ($content !== null) {
        $options['content'] = $content;
    }
    // The one timeout that there is belongs to the socket: it is for connecting, and
    // then for every wait for bytes.
    if (isset($limits['idle_ms'])) {
        $options['timeout'] = $limits['idle_ms'] / 1000;
    }
    if (isset($limits['redirects'])) {
        $options['follow_location'] = $limits['redirects'] > 0 ? 1 : 0;
        // PHP counts the first request too.
        $options['max_redirects'] = $limits['redirects'] + 1;
    }
    error_clear_last();
    // What PHP warns of is what `error_get_last` tells; the @ keeps it off stdout.
    $body = @file_get_contents($call['url'], false, stream_context_create(['http' => $options]));
    if ($body === false) {
        $error = error_get_last();
        throw new Failure([['type' => level($error['type']), 'message' => $error['message']]]);
    }
    // The fields of all answers, one after the other, each behind its status line.
    $lines = preg_grep('/^HTTP\//', $http_response_header);
    return [preg_match('/^\S+ (\d+)/', end($lines), $found) ? (int) $found[1] : null, $body];
});
