// `retry URL` waits as long as Retry-After says; `poll URL` asks every 15 s, for
// five minutes; `limit URL` gives a call four minutes.
package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

func ask(url string) *http.Response {
	answer, err := http.Get(url)
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
	return answer
}

func main() {
	what, url := os.Args[1], os.Args[2]
	if what == "limit" {
		http.DefaultClient.Timeout = 240 * time.Second
		ask(url)
		return
	}
	if what == "retry" {
		seconds, err := strconv.Atoi(ask(url).Header.Get("Retry-After"))
		if err != nil {
			panic(err)
		}
		time.Sleep(time.Duration(seconds) * time.Second)
		ask(url)
		return
	}
	for range [20]struct{}{} {
		ask(url)
		time.Sleep(15 * time.Second)
	}
}
