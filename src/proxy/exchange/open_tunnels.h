// SPDX-License-Identifier: Apache-2.0
// All tunnels that are open: how many, what has passed through them, and which of them could be closed early, because
// their clients have closed their side, to free a slot of the connection quota.
#pragma once

#include <list>
#include <optional>
#include <string_view>

#include "access/address.h"
#include "penstock/snapshot.h"

namespace penstock::proxy {

/// A tunnel whose client has closed its side.
class HalfClosedTunnel {
 public:
  virtual bool may_make_room() const = 0;
  /// Closes the tunnel; `why` is for people.
  virtual void make_room(std::string_view why) = 0;

 protected:
  ~HalfClosedTunnel() = default;
};

class OpenTunnels {
  struct HalfClosed {
    HalfClosedTunnel* tunnel;
    std::optional<access::Address> client;
  };

 public:
  OpenTunnels() = default;
  OpenTunnels(const OpenTunnels&) = delete;
  OpenTunnels& operator=(const OpenTunnels&) = delete;

  /// One open tunnel, which counts while this exists.
  class Entry {
   public:
    explicit Entry(OpenTunnels& all) : all_(all) { ++all_.totals_.open; }
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    void passed_in(std::size_t bytes) { all_.totals_.bytes_in += bytes; }
    void passed_out(std::size_t bytes) { all_.totals_.bytes_out += bytes; }
    /// The client has closed its side. Once; `tunnel` must outlive this.
    void half_close(HalfClosedTunnel& tunnel, const std::optional<access::Address>& client);

   private:
    OpenTunnels& all_;
    std::optional<std::list<HalfClosed>::iterator> half_closed_;
  };

  /// Closes the tunnel whose client (this one; nullopt: any) closed its side the longest ago. False: there is none that
  /// may be closed.
  bool make_room(const std::optional<access::Address>& client);
  const TunnelTotals& totals() const { return totals_; }

 private:
  TunnelTotals totals_;
  std::list<HalfClosed> half_closed_;  // the longest ago first
};

}  // namespace penstock::proxy
