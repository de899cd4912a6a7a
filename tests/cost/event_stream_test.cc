// SPDX-License-Identifier: Apache-2.0
// Streams of events by the examples of the HTML standard and by hand, each cut in five ways.
#include "cost/event_stream.h"

#include "cost/scanning.h"

namespace penstock::cost {
namespace {

using Events = std::vector<std::string>;

Events events_in(const std::string& stream, std::size_t size) {
  EventStream events;
  Events found{""};
  in_pieces(stream, size, [&](std::string_view bytes) {
    std::string_view piece;
    for (auto state = events.next(bytes, piece); state != EventStream::State::more; state = events.next(bytes, piece)) {
      if (state == EventStream::State::over)
        found.emplace_back();
      else
        found.back() += piece;
    }
    EXPECT_TRUE(bytes.empty());
  });
  return found;
}

/// The data of each event, and at the end what was begun.
Events events_in(const std::string& stream) {
  const auto whole = events_in(stream, stream.size() + 1);
  for (const std::size_t size : {1, 2, 3, 7}) EXPECT_EQ(events_in(stream, size), whole) << stream << " by " << size;
  return whole;
}

TEST(EventStream, finds_the_data_of_events) {
  EXPECT_EQ(events_in("data: {\"a\":1}\n\ndata: {\"a\":2}\n\n"), (Events{"{\"a\":1}", "{\"a\":2}", ""}));
  EXPECT_EQ(events_in("event: ping\nid: 4\ndata: x\nretry: 5\n\n"), (Events{"x", ""}));
}

TEST(EventStream, knows_all_ends_of_lines) {
  for (const std::string end : {"\n", "\r", "\r\n"})
    EXPECT_EQ(events_in("data: a" + end + "data: b" + end + end + "data: c" + end + end), (Events{"a\nb", "c", ""}));
  EXPECT_EQ(events_in("data: a\r\r\ndata: b\n\r\n"), (Events{"a", "b", ""}));
}

TEST(EventStream, removes_one_blank) {
  EXPECT_EQ(events_in("data:a\n\ndata: b\n\ndata:  c\n\ndata:\td\n\n"), (Events{"a", "b", " c", "\td", ""}));
}

TEST(EventStream, reads_the_examples_of_the_standard) {
  EXPECT_EQ(events_in("data: YHOO\ndata: +2\ndata: 10\n\n"), (Events{"YHOO\n+2\n10", ""}));
  EXPECT_EQ(events_in(": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n"),
            (Events{"", "first event", "second event", " third event", ""}));
  EXPECT_EQ(events_in("data\n\ndata\ndata\n\ndata:"), (Events{"", "\n", ""}));
}

TEST(EventStream, knows_no_other_field) {
  EXPECT_EQ(events_in("dat: a\ndatax: b\nDATA: c\n data: d\n:data: e\ndata : f\ndat\n\n"), (Events{"", ""}));
}

TEST(EventStream, skips_a_byte_order_mark_once) {
  EXPECT_EQ(events_in("\xef\xbb\xbf"
                      "data: a\n\n"),
            (Events{"a", ""}));
  EXPECT_EQ(events_in("\xef\xbb\xbf\xef\xbb\xbf"
                      "data: a\n\n"),
            (Events{"", ""}));
  EXPECT_EQ(events_in("\xef\xbb"
                      "data: a\ndata: b\n\n"),
            (Events{"b", ""}));
  EXPECT_EQ(events_in("\xef\n\ndata: b\n\n"), (Events{"", "b", ""}));
}

TEST(EventStream, an_event_that_is_cut_is_not_over) {
  EXPECT_EQ(events_in("data: a\n\ndata: b\n"), (Events{"a", "b"}));
  EXPECT_EQ(events_in("data: a\n\ndata: b"), (Events{"a", "b"}));
}

}  // namespace
}  // namespace penstock::cost
