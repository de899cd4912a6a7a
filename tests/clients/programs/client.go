// SPDX-License-Identifier: Apache-2.0
// client URL COUNT: Go's net/http, by the environment.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
)

func fetch(url string) string {
	response, err := http.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != 200 {
		fmt.Fprintln(os.Stderr, response.Status, err)
		os.Exit(1)
	}
	return string(body)
}

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	bodies := make([]string, count)
	var all sync.WaitGroup
	for number := range bodies {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			bodies[number] = fetch(os.Args[1] + strconv.Itoa(number+1))
		}(number)
	}
	all.Wait()
	for _, body := range bodies {
		fmt.Print(body)
	}
}
