// SPDX-License-Identifier: Apache-2.0
// Turns the bytes of event logs into requests: cuts them into lines, passes over bad ones, and joins the lines of each
// request by its id, in whatever order they come. Pure: it opens no file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/event_line.h"
#include "replay/id_index.h"
#include "replay/request_log.h"

namespace penstock::replay {

class EventLogReader {
 public:
  static constexpr std::size_t kLongestLine = 16 * 1024;
  static constexpr std::uint64_t kMostEvents = 10'000'000;

  /// Where a configuration puts the request that a line tells of.
  using Placing = std::function<Place(const EventLine&)>;

  /// One of `placings` for each configuration. `log`, which is empty, must outlive this.
  EventLogReader(RequestLog& log, std::vector<Placing> placings, std::uint64_t most_events = kMostEvents);

  /// What follows is of this file.
  void begin(std::string file);
  /// The next bytes of it. False: no more events may be, and none is read from now on.
  bool read(std::string_view bytes);
  /// The file has ended; so has its last line.
  void end();

 private:
  void take_line(std::string_view line);
  bool take_event(const EventLine& event);
  bool join(const EventLine& event);
  bool take_off(const EventLine& event, LoggedRequest& request, bool is_new) const;
  bool land(const EventLine& event, LoggedRequest& request, bool is_new) const;
  bool leave(const EventLine& event, LoggedRequest& request) const;
  void note_bad_line();

  RequestLog& log_;
  const std::vector<Placing> placings_;
  const std::uint64_t most_events_;
  IdIndex index_;
  std::string file_;
  std::uint64_t line_ = 0;  // of the file, the one that is being read
  std::string begun_;       // the line whose end has not come
  bool too_long_ = false;   // and the rest of it is to be passed over
  std::string room_;
};

}  // namespace penstock::replay
