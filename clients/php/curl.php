<?php
// PHP's ext/curl, as it comes: one handle for all calls, curl_exec returns the content.

declare(strict_types=1);

require __DIR__ . '/kit.php';

/** The constant by which callers know an error of libcurl, if PHP has one. */
function code(int $number): ?string
{
    $names = [];
    foreach (get_defined_constants(true)['curl'] as $name => $value) {
        if ($value === $number && str_starts_with($name, 'CURLE_')) {
            $names[] = $name;
        }
    }
    // Of two names the longer one is the old one, as CURLE_FTP_PARTIAL_FILE.
    usort($names, fn ($one, $other) => strlen($one) <=> strlen($other));
    return $names[0] ?? null;
}

/** Hands over a content that is read piece by piece. */
function stream_of(string $content): Closure
{
    return function ($handle, $stream, int $length) use (&$content): string {
        $piece = substr($content, 0, $length);
        $content = substr($content, $length);
        return $piece;
    };
}

$handle = curl_init();

run(function (array $call, array $limits) use ($handle): array {
    // The connections stay, all options go.
    curl_reset($handle);
    curl_setopt($handle, CURLOPT_URL, $call['url']);
    curl_setopt($handle, CURLOPT_RETURNTRANSFER, true);
    curl_setopt($handle, CURLOPT_HTTPHEADER, header_lines($call));
    // A server that the work names is never to be reached through a proxy.
    curl_setopt($handle, CURLOPT_NOPROXY, '*');
    if ($call['method'] === 'HEAD') {
        curl_setopt($handle, CURLOPT_NOBODY, true);
    } else {
        curl_setopt($handle, CURLOPT_CUSTOMREQUEST, $call['method']);
    }
    $content = content($call);
    if ($content !== null && ($call['stream_body'] ?? false)) {
        curl_setopt($handle, CURLOPT_UPLOAD, true);
        curl_setopt($handle, CURLOPT_READFUNCTION, stream_of($content));
    } elseif ($content !== null) {
        curl_setopt($handle, CURLOPT_POSTFIELDS, $content);
    }
    if (isset($limits['connect_ms'])) {
        curl_setopt($handle, CURLOPT_CONNECTTIMEOUT_MS, $limits['connect_ms']);
    }
    if (isset($limits['total_ms'])) {
        curl_setopt($handle, CURLOPT_TIMEOUT_MS, $limits['total_ms']);
    }
    $body = curl_exec($handle);
    if ($body === false) {
        $number = curl_errno($handle);
        $link = ['code' => code($number), 'errno' => $number, 'message' => curl_error($handle)];
        throw new Failure([array_filter($link, fn ($part) => $part !== null)]);
    }
    return [curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $body];
});
