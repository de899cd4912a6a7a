# SPDX-License-Identifier: Apache-2.0
# client.rb URL COUNT: Ruby's Net::HTTP, by the environment.
require 'net/http'

def fetch(url)
  response = Net::HTTP.get_response(URI(url))
  response.value # raises unless 2xx
  response.body
end

threads = (1..Integer(ARGV[1])).map { |number| Thread.new { fetch("#{ARGV[0]}#{number}") } }
threads.each { |thread| print thread.value }
