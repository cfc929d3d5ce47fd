// resty v2, as it comes; with an argument that is a number, that many retries
// (SetRetryCount), as its documentation has people add them.

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/go-resty/resty/v2"
)

func main() {
	retries := 0
	if len(os.Args) > 1 {
		number, err := strconv.Atoi(os.Args[1])
		if err != nil {
			fail("%q is no number of retries", os.Args[1])
		}
		retries = number
	}
	Run(func(limits Limits) func(context.Context, *Call) (*http.Response, error) {
		client, err := clientWith(limits, retries)
		return func(ctx context.Context, call *Call) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return makeCall(ctx, client, limits, call)
		}
	})
}

// resty.New, where nothing else is told.
func clientWith(limits Limits, retries int) (*resty.Client, error) {
	client := resty.New()
	if retries > 0 && limits.Attempts != nil {
		retries = *limits.Attempts - 1
	}
	client.SetRetryCount(retries)
	if limits.Redirects != nil {
		client.SetRedirectPolicy(resty.FlexibleRedirectPolicy(*limits.Redirects))
	}
	if limits.ConnectMs != nil {
		transport, err := client.Transport()
		if err != nil {
			return nil, err
		}
		dialer := &net.Dialer{Timeout: time.Duration(*limits.ConnectMs) * time.Millisecond}
		transport.DialContext = dialer.DialContext
	}
	return client, nil
}

func makeCall(ctx context.Context, client *resty.Client, limits Limits, call *Call) (*http.Response, error) {
	if limits.TotalMs != nil {
		// Of a call with all its attempts: SetTimeout is for each of them. It ends with
		// the call's context, not before: the answer may yet have to be read.
		most := time.Duration(*limits.TotalMs) * time.Millisecond
		limited, cancel := context.WithTimeout(ctx, most)
		context.AfterFunc(ctx, cancel)
		ctx = limited
	}
	request := client.R().SetContext(ctx)
	for _, field := range call.Headers {
		request.Header.Add(field[0], field[1])
	}
	request.SetHeader("Wirefault-Call", fmt.Sprint(call.ID))
	content, err := Content(call)
	if err != nil {
		return nil, err
	}
	switch {
	case content == nil:
	case call.StreamBody:
		request.SetBody(content)
	default:
		// A reader is sent once and is empty the next time; bytes can be sent again.
		whole, err := io.ReadAll(content)
		if err != nil {
			return nil, err
		}
		request.SetBody(whole)
	}
	// A list of events is read as it comes, everything else by resty.
	request.SetDoNotParseResponse(call.Stream != nil)
	answer, err := request.Execute(call.Method, call.URL)
	if err != nil {
		return nil, err
	}
	shown := *answer.RawResponse
	if call.Stream == nil {
		shown.Body = io.NopCloser(bytes.NewReader(answer.Body()))
	}
	return &shown, nil
}
