# Perl's LWP::UserAgent, as it comes.

use strict;
use warnings;

use FindBin;
use HTTP::Request;
use LWP::UserAgent;
use lib $FindBin::Bin;
use Kit;

my $ua;

# One client for all calls. It keeps no connection unless told to.
sub client {
    my ($limits) = @_;
    # A server that the work names is never to be reached through a proxy.
    my %options = (env_proxy => 0);
    $options{timeout} = $limits->{idle_ms} / 1000 if defined $limits->{idle_ms};
    $options{max_redirect} = $limits->{redirects} if defined $limits->{redirects};
    return LWP::UserAgent->new(%options);
}

Kit::run(sub {
    my ($call, $limits) = @_;
    $ua //= client($limits);
    my $headers = Kit::headers($call);
    my @fields = map { my $name = $_; map { ($name => $_) } @{ $headers->{$name} } } keys %$headers;
    my $request = HTTP::Request->new($call->{method}, $call->{url}, \@fields);
    my $content = Kit::body($call);
    $request->content($content) if defined $content;
    my $answer = $ua->request($request);
    # So it tells of failures of its own, with a status that no server sent.
    die Kit::Error->new('LWP::UserAgent', $answer->message)
        if ($answer->header('Client-Warning') // '') eq 'Internal response';
    # So it tells that it could not read all of the content; is_success does not say that.
    my $died = $answer->header('X-Died');
    die Kit::Error->new('LWP::Protocol', $died) if defined $died;
    return ($answer->code, $answer->content);
});
