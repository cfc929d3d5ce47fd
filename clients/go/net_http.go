// Go's net/http client, as it comes.

package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

func main() {
	Run(func(limits Limits) func(context.Context, *Call) (*http.Response, error) {
		client := clientWith(limits)
		return func(ctx context.Context, call *Call) (*http.Response, error) {
			content, err := Content(call)
			if err != nil {
				return nil, err
			}
			request, err := http.NewRequestWithContext(ctx, call.Method, call.URL, content)
			if err != nil {
				return nil, err
			}
			SetHeaders(request, call)
			return client.Do(request)
		}
	})
}

// http.DefaultClient, where nothing else is told.
func clientWith(limits Limits) *http.Client {
	client := *http.DefaultClient
	if limits.TotalMs != nil {
		client.Timeout = time.Duration(*limits.TotalMs) * time.Millisecond
	}
	if limits.ConnectMs != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		dialer := &net.Dialer{Timeout: time.Duration(*limits.ConnectMs) * time.Millisecond}
		transport.DialContext = dialer.DialContext
		client.Transport = transport
	}
	if limits.Redirects != nil {
		most := *limits.Redirects
		client.CheckRedirect = func(_ *http.Request, via []*http.Request) error {
			if most == 0 {
				return http.ErrUseLastResponse
			}
			if len(via) > most {
				return errors.New("more redirects than allowed")
			}
			return nil
		}
	}
	return &client
}
