// The Go kit: what a program under test needs to speak with wirefault.
//
// The work is the first line on stdin; reports go to stdout, a line each. A Go
// program ends with main, whatever its goroutines still do, so it waits for
// `finish` before it ends: a request that a library still has in hand is sent, and
// seen. Only the standard library.

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	protocol = 1
	// Bytes of a body that a report quotes.
	start = 256
	// Links after which an error chain is cut.
	longest = 16
)

// Unsupported is what a client returns that cannot do the work.
type Unsupported struct{ Reason string }

func (u Unsupported) Error() string { return u.Reason }

// StreamEnded says that a list of events ended, in whatever order, before its last one.
type StreamEnded struct{}

func (StreamEnded) Error() string { return "the list ended before its last event" }

// Call is one call of the work.
type Call struct {
	ID         int         `json:"id"`
	Method     string      `json:"method"`
	URL        string      `json:"url"`
	Headers    [][2]string `json:"headers"`
	Body       *content    `json:"body"`
	StreamBody bool        `json:"stream_body"`
	Stream     *struct {
		EndsWith *string `json:"ends_with"`
	} `json:"stream"`
	PauseMs int64 `json:"pause_ms"`
	Group   int   `json:"group"`
	AtOnce  int   `json:"at_once"`
}

type content struct {
	Text *string `json:"text"`
	File *string `json:"file"`
}

// Limits are what the client is told to keep to; nil: its own default.
type Limits struct {
	ConnectMs *int64 `json:"connect_ms"`
	TotalMs   *int64 `json:"total_ms"`
	Redirects *int   `json:"redirects"`
	Attempts  *int   `json:"attempts"`
}

type work struct {
	Protocol int    `json:"protocol"`
	Calls    []Call `json:"calls"`
	Limits   Limits `json:"limits"`
}

type object map[string]any

var out sync.Mutex

// Writes one message: a whole line, out at once.
func send(message object) {
	out.Lock()
	defer out.Unlock()
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(message); err != nil {
		fail("stdout cannot be written: %v", err)
	}
}

func progress(call *Call, state string) {
	send(object{"progress": object{"call": call.ID, "state": state}})
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}

// What the harness says after the work.
type controls struct {
	mutex    sync.Mutex
	contexts map[int]context.Context
	cancels  map[int]context.CancelFunc
	finished chan struct{}
}

func (c *controls) of(call int) (context.Context, context.CancelFunc) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.contexts[call] == nil {
		c.contexts[call], c.cancels[call] = context.WithCancel(context.Background())
	}
	return c.contexts[call], c.cancels[call]
}

func (c *controls) follow(lines *bufio.Reader) {
	// The end of stdin counts as `finish`, since nothing more can come.
	defer close(c.finished)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var said struct {
			Finish *struct{}
			Cancel *struct{ Call int }
		}
		if json.Unmarshal(line, &said) != nil {
			continue
		}
		if said.Finish != nil {
			return
		}
		if said.Cancel != nil {
			_, cancel := c.of(said.Cancel.Call)
			cancel()
		}
	}
}

// Run makes all calls of the work: group after group, and in a group so many at the
// same time as `at_once` says.
//
// `prepare` makes the one client of the work; what it returns makes one call. The kit
// reads the body and reports.
func Run(prepare func(Limits) func(context.Context, *Call) (*http.Response, error)) {
	lines := bufio.NewReader(os.Stdin)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		fail("no work on stdin: wirefault starts this program")
	}
	var all work
	if err := json.Unmarshal(line, &all); err != nil {
		fail("the first line on stdin is not the work: %v", err)
	}
	if all.Protocol != protocol {
		fail("protocol version %d, this client speaks %d", all.Protocol, protocol)
	}
	said := &controls{
		contexts: map[int]context.Context{},
		cancels:  map[int]context.CancelFunc{},
		finished: make(chan struct{}),
	}
	go said.follow(lines)
	makeCall := prepare(all.Limits)
	for _, group := range groups(all.Calls) {
		if unsupported := workOff(group, makeCall, said); unsupported != nil {
			send(object{"unsupported": object{"reason": unsupported.Error()}})
			return
		}
	}
	<-said.finished
}

// Calls that are made beside each other; one without a group is alone.
func groups(calls []Call) [][]*Call {
	var all [][]*Call
	for i := range calls {
		call := &calls[i]
		if last := len(all) - 1; last >= 0 && call.Group > 0 && all[last][0].Group == call.Group {
			all[last] = append(all[last], call)
		} else {
			all = append(all, []*Call{call})
		}
	}
	return all
}

// Whoever is free takes the next one.
func workOff(
	group []*Call,
	makeCall func(context.Context, *Call) (*http.Response, error),
	said *controls,
) error {
	waiting := make(chan *Call, len(group))
	for _, call := range group {
		waiting <- call
	}
	close(waiting)
	var workers sync.WaitGroup
	unsupported := make(chan error, len(group))
	for worker := 0; worker == 0 || worker < group[0].AtOnce; worker++ {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for call := range waiting {
				if err := one(call, makeCall, said); err != nil {
					unsupported <- err
				}
			}
		}()
	}
	workers.Wait()
	close(unsupported)
	return <-unsupported
}

// Makes one call and reports it; an error only when the client cannot do it.
func one(
	call *Call,
	makeCall func(context.Context, *Call) (*http.Response, error),
	said *controls,
) error {
	ctx, _ := said.of(call.ID)
	time.Sleep(time.Duration(call.PauseMs) * time.Millisecond)
	progress(call, "pending")
	var list *events
	if call.Stream != nil {
		list = &events{endsWith: call.Stream.EndsWith, ids: []string{}}
	}
	answer, err := makeCall(ctx, call)
	var shown object
	if err == nil {
		shown, err = describe(answer, list)
	}
	var unsupported Unsupported
	if errors.As(err, &unsupported) {
		return unsupported
	}
	state := "failed"
	switch {
	case err == nil:
		if answer.StatusCode/100 == 2 {
			state = "succeeded"
		}
		shown = object{"response": shown}
	case ctx.Err() != nil:
		shown = object{"cancelled": object{}}
	default:
		shown = object{"error": chain(err)}
	}
	progress(call, state)
	report := object{"call": call.ID, "shown": shown}
	if list != nil {
		report["events"] = list.ids
	}
	send(object{"report": report})
	return nil
}

// Reads an answer to its end and describes it without keeping it.
func describe(answer *http.Response, list *events) (object, error) {
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		list = nil
	}
	digest := sha256.New()
	var first bytes.Buffer
	length := 0
	piece := make([]byte, 16384)
	for {
		read, err := answer.Body.Read(piece)
		digest.Write(piece[:read])
		length += read
		if room := start - first.Len(); read < room {
			first.Write(piece[:read])
		} else {
			first.Write(piece[:room])
		}
		if list != nil {
			list.take(piece[:read])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if list != nil && list.endsWith != nil && !list.ended {
		return nil, StreamEnded{}
	}
	return object{
		"status":      answer.StatusCode,
		"body_bytes":  length,
		"body_sha256": hex.EncodeToString(digest.Sum(nil)),
		"body_start":  strings.ToValidUTF8(first.String(), "\ufffd"),
	}, nil
}

// Content returns the content of a call as people hand it over: something that can be
// read again, a stream that cannot, or nil.
func Content(call *Call) (io.Reader, error) {
	if call.Body == nil {
		return nil, nil
	}
	var bytesOf []byte
	if call.Body.File != nil {
		read, err := os.ReadFile(*call.Body.File)
		if err != nil {
			return nil, err
		}
		bytesOf = read
	} else {
		bytesOf = []byte(*call.Body.Text)
	}
	if call.StreamBody {
		return struct{ io.Reader }{bytes.NewReader(bytesOf)}, nil
	}
	return bytes.NewReader(bytesOf), nil
}

// SetHeaders adds the header fields of a call, with its number.
func SetHeaders(request *http.Request, call *Call) {
	for _, field := range call.Headers {
		// Go takes this one from another place.
		if http.CanonicalHeaderKey(field[0]) == "Host" {
			request.Host = field[1]
		}
		request.Header.Add(field[0], field[1])
	}
	request.Header.Set("Wirefault-Call", fmt.Sprint(call.ID))
}

// Values that callers compare errors with, by their names.
var known = []struct {
	value error
	name  string
}{
	{io.EOF, "io.EOF"},
	{io.ErrUnexpectedEOF, "io.ErrUnexpectedEOF"},
	{context.DeadlineExceeded, "context.DeadlineExceeded"},
	{context.Canceled, "context.Canceled"},
	{net.ErrClosed, "net.ErrClosed"},
	{http.ErrUseLastResponse, "http.ErrUseLastResponse"},
	{http.ErrNoLocation, "http.ErrNoLocation"},
	{http.ErrLineTooLong, "http.ErrLineTooLong"},
	{syscall.ECONNREFUSED, "ECONNREFUSED"},
	{syscall.ECONNRESET, "ECONNRESET"},
	{syscall.ECONNABORTED, "ECONNABORTED"},
	{syscall.EPIPE, "EPIPE"},
	{syscall.ETIMEDOUT, "ETIMEDOUT"},
	{syscall.EHOSTUNREACH, "EHOSTUNREACH"},
	{syscall.ENETUNREACH, "ENETUNREACH"},
	{syscall.EADDRNOTAVAIL, "EADDRNOTAVAIL"},
	{syscall.EMFILE, "EMFILE"},
}

// The chain of an error and what it wraps, outermost first.
func chain(err error) []object {
	var links []object
	for at := "error"; err != nil && len(links) < longest; at += ".Unwrap()" {
		link := object{"type": typeName(err), "message": err.Error(), "at": at}
		for _, one := range known {
			if reflect.TypeOf(err).Comparable() && err == one.value {
				link["code"] = one.name
			}
		}
		if number, ok := err.(syscall.Errno); ok {
			link["errno"] = int(number)
		}
		links = append(links, link)
		err = errors.Unwrap(err)
	}
	return links
}

// The type with the path of its package: `*net/url.Error`.
func typeName(err error) string {
	kind, star := reflect.TypeOf(err), ""
	if kind.Kind() == reflect.Pointer {
		kind, star = kind.Elem(), "*"
	}
	if kind.PkgPath() == "" {
		return star + kind.Name()
	}
	return star + kind.PkgPath() + "." + kind.Name()
}

// Reads a list of server-sent events (WHATWG HTML, section 9.2.6) as it comes.
type events struct {
	// Ids of the events that the caller was given.
	ids      []string
	endsWith *string
	ended    bool
	line     []byte
	afterCR  bool
	begun    bool
	id, data *string
}

func (e *events) take(piece []byte) {
	for _, one := range piece {
		afterCR := e.afterCR
		e.afterCR = one == '\r'
		switch {
		case one == '\n' && afterCR:
		case one == '\r' || one == '\n':
			e.endLine(strings.ToValidUTF8(string(e.line), "\ufffd"))
			e.line = e.line[:0]
		default:
			e.line = append(e.line, one)
		}
	}
}

func (e *events) endLine(line string) {
	if !e.begun {
		line = strings.TrimPrefix(line, "\ufeff")
		e.begun = true
	}
	if line == "" {
		if e.data != nil {
			if e.id != nil {
				e.ids = append(e.ids, *e.id)
			}
			e.ended = e.ended || e.endsWith != nil && *e.data == *e.endsWith
		}
		e.id, e.data = nil, nil
		return
	}
	field, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch {
	case field == "id" && !strings.Contains(value, "\x00"):
		e.id = &value
	case field == "data" && e.data != nil:
		value = *e.data + "\n" + value
		e.data = &value
	case field == "data":
		e.data = &value
	}
}
