// HashiCorp's go-retryablehttp, as it comes, but for its logger, which is off.

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

func main() {
	Run(func(limits Limits) func(context.Context, *Call) (*http.Response, error) {
		client := clientWith(limits)
		return func(ctx context.Context, call *Call) (*http.Response, error) {
			content, err := Content(call)
			if err != nil {
				return nil, err
			}
			if limits.TotalMs != nil {
				// Of a call with all its attempts: the client's own Timeout is for each of them.
				// It ends with the call's context, not before: the answer is yet to be read.
				most := time.Duration(*limits.TotalMs) * time.Millisecond
				limited, cancel := context.WithTimeout(ctx, most)
				context.AfterFunc(ctx, cancel)
				ctx = limited
			}
			request, err := retryablehttp.NewRequestWithContext(ctx, call.Method, call.URL, content)
			if err != nil {
				return nil, err
			}
			SetHeaders(request.Request, call)
			return client.Do(request)
		}
	})
}

// retryablehttp.NewClient, where nothing else is told.
func clientWith(limits Limits) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.Logger = nil
	if limits.Attempts != nil {
		client.RetryMax = *limits.Attempts - 1
	}
	if limits.ConnectMs != nil {
		dialer := &net.Dialer{Timeout: time.Duration(*limits.ConnectMs) * time.Millisecond}
		client.HTTPClient.Transport.(*http.Transport).DialContext = dialer.DialContext
	}
	if limits.Redirects != nil {
		most := *limits.Redirects
		client.HTTPClient.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
			if most == 0 {
				return http.ErrUseLastResponse
			}
			if len(via) > most {
				// As net/http says it: this client knows by these words not to send again.
				return fmt.Errorf("stopped after %d redirects", most)
			}
			return nil
		}
	}
	return client
}
