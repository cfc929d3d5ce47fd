package Kit;

# The Perl kit: what a program under test needs to speak with wirefault.
#
# The work is the first line on stdin; reports go to stdout, a line each. The
# program ends by itself when its last call has reported; nothing here exits
# before that. Only modules that come with Perl.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Encode ();
use JSON::PP ();
use Time::HiRes ();

use constant {
    PROTOCOL => 1,
    # Bytes of a body that a report quotes.
    START => 256,
    # Bytes of a piece of a content that is handed over as a stream.
    PIECE => 16384,
};

my $json = JSON::PP->new->utf8->canonical;

# Writes one message: a whole line, out at once.
sub send_message {
    my ($message) = @_;
    local $| = 1;
    print {*STDOUT} $json->encode($message) . "\n";
}

sub progress {
    my ($call, $state) = @_;
    send_message({ progress => { call => $call->{id}, state => $state } });
}

# Makes all calls of the work, one after the other.
#
# `$make->($call, $limits)` makes one call and returns a status and a whole body,
# or dies; with a Kit::Error, if the client says more than a text.
sub run {
    my ($make) = @_;
    binmode STDOUT;
    my $line = readline(*STDIN) // die "no work on stdin: wirefault starts this program\n";
    my $work = $json->decode($line);
    die "protocol version $work->{protocol}, this client speaks @{[PROTOCOL]}\n"
        if $work->{protocol} != PROTOCOL;
    my $reason = beyond(@{ $work->{calls} });
    return send_message({ unsupported => { reason => $reason } }) if $reason;
    one($_, $make, $work->{limits}) for @{ $work->{calls} };
}

# What in these calls nothing here can do.
sub beyond {
    my @calls = @_;
    return 'calls are made one at a time' if grep { ($_->{at_once} // 1) > 1 } @calls;
    return 'lists of events are not read' if grep { $_->{stream} } @calls;
    return 'uploads are not resumed' if grep { $_->{resumable} } @calls;
    return undef;
}

# Makes one call and reports it.
sub one {
    my ($call, $make, $limits) = @_;
    Time::HiRes::sleep($call->{pause_ms} / 1000) if $call->{pause_ms};
    progress($call, 'pending');
    my ($shown, $state);
    if (my ($status, $body) = eval { $make->($call, $limits) }) {
        $shown = { response => shown($status, $body) };
        $state = $status =~ /^2/ ? 'succeeded' : 'failed';
    }
    else {
        $shown = { error => [ link_of($@) ] };
        $state = 'failed';
    }
    progress($call, $state);
    send_message({ report => { call => $call->{id}, shown => $shown } });
}

sub shown {
    my ($status, $body) = @_;
    return {
        status => 0 + $status,
        body_bytes => length $body,
        body_sha256 => sha256_hex($body),
        body_start => text(substr $body, 0, START),
    };
}

# An exception; most of Perl's are mere texts.
sub link_of {
    my ($error) = @_;
    return { message => text("$error"), at => 'error' } unless ref $error;
    return { type => ref $error, message => text("$error"), at => 'error' } if ref $error ne 'Kit::Error';
    return { type => $error->{type}, message => text($error->{message}), at => 'error' };
}

# Bytes as text, with what is no UTF-8 replaced.
sub text {
    my ($bytes) = @_;
    return Encode::decode('UTF-8', $bytes);
}

# The header fields of a call, with its number: for each name its values.
sub headers {
    my ($call) = @_;
    my %headers;
    for my $field (@{ $call->{headers} // [] }, [ 'Wirefault-Call', "$call->{id}" ]) {
        my ($name, $value) = map { Encode::encode('UTF-8', $_) } @$field;
        push @{ $headers{$name} }, $value;
    }
    return \%headers;
}

# The content of a call: bytes, a sub that gives a piece each time, or undef.
sub body {
    my ($call) = @_;
    my $body = $call->{body} // return undef;
    my $content = defined $body->{file} ? read_file($body->{file}) : Encode::encode('UTF-8', $body->{text});
    return $content unless $call->{stream_body};
    return sub { substr $content, 0, PIECE, '' };
}

sub read_file {
    my ($path) = @_;
    open my $file, '<:raw', $path or die "$path: $!\n";
    local $/ = undef;
    my $content = readline $file;
    close $file or die "$path: $!\n";
    return $content;
}

package Kit::Error;

# An error as the client under test words it.
sub new {
    my ($class, $type, $message) = @_;
    return bless { type => $type, message => $message }, $class;
}

1;
