# Perl's HTTP::Tiny, as it comes.

use strict;
use warnings;

use FindBin;
use HTTP::Tiny;
use lib $FindBin::Bin;
use Kit;

my $http;

# One client for all calls; it keeps the last connection.
sub client {
    my ($limits) = @_;
    # A server that the work names is never to be reached through a proxy.
    my %options = (proxy => undef, http_proxy => undef, https_proxy => undef);
    # The one timeout that there is belongs to the socket: it is for connecting, and
    # then for every wait for bytes.
    $options{timeout} = $limits->{idle_ms} / 1000 if defined $limits->{idle_ms};
    $options{max_redirect} = $limits->{redirects} if defined $limits->{redirects};
    return HTTP::Tiny->new(%options);
}

Kit::run(sub {
    my ($call, $limits) = @_;
    $http //= client($limits);
    my %options = (headers => Kit::headers($call));
    my $content = Kit::body($call);
    $options{content} = $content if defined $content;
    my $answer = $http->request($call->{method}, $call->{url}, \%options);
    # So it tells of failures of its own; the content is the text of the error.
    die Kit::Error->new('HTTP::Tiny', $answer->{content})
        if $answer->{status} == 599 && $answer->{reason} eq 'Internal Exception';
    return ($answer->{status}, $answer->{content});
});
