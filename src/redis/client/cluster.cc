// SPDX-License-Identifier: Apache-2.0
// See cluster.h. Nodes are connected to when a key of theirs is first asked for, and dropped when none was for a
// minute. https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ says what clients are to do.
#include "redis/client/cluster.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace penstock::redis {

namespace {

constexpr std::int64_t kKeptAfterForward = 10'000'000;  // a node to which ASK leads, which may have no slot yet
constexpr std::size_t kTagsTried = 200'000;
constexpr std::int64_t kFirstMapWithin = 1'000'000;  // requests wait for it
constexpr std::size_t kHostsInTime = 3;              // at most so many that do not answer are asked within that time
constexpr std::size_t kUnconnectedSources = 8;       // nodes asked for the map, of those that are not connected to

std::string hosts_of(const RedisConfig& config) {
  std::string hosts;
  for (const auto& one : config.cluster) hosts += (hosts.empty() ? "" : ",") + to_string(one);
  return hosts + " (a Cluster)";
}

bool puts_map_in_doubt(FailureKind kind) { return is_outage(kind) || is_of_one_slot(kind); }

}  // namespace

Cluster::Cluster(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                 std::span<const std::string_view> scripts, std::string_view process, RedisEvents& events,
                 NoticeSink notices)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      scripts_(scripts),
      process_(process),
      events_(events),
      sink_(std::move(notices)),
      notices_(sink_, hosts_of(config), loop.now()),
      refresh_(loop, network, [this] { refresh_map(); }) {
  refresh_.start_now();
}

// Which node answers.

/// Before the map is known nothing is known to be missing. Afterwards the next map says whether it is still.
Redis* Cluster::server_for(Slot slot) {
  const auto* const owner = map_.owner(slot);
  if (owner) return find_or_connect(*owner).redis.get();
  if (!map_.empty() && unserved_.asked(slot, loop_.now())) refresh_.request();
  return nullptr;
}

const Redis* Cluster::find_server(Slot slot) const {
  const auto* const owner = map_.owner(slot);
  const Node* const node = owner ? find_node(owner->endpoint) : nullptr;
  return node ? node->redis.get() : nullptr;
}

Cluster::Node* Cluster::find_node(const Endpoint& endpoint) const {
  const auto found = std::ranges::find_if(nodes_, [&](const auto& node) {
    return node->config.port == endpoint.port && node->config.host == endpoint.address;
  });
  return found == nodes_.end() ? nullptr : found->get();
}

Cluster::Node& Cluster::find_or_connect(const SlotMap::Node& node) {
  if (Node* const known = find_node(node.endpoint)) {
    known->last_used = loop_.now();
    return *known;
  }
  Node& added = *nodes_.emplace_back(std::make_unique<Node>(node_config(node), loop_.now()));
  added.redis = std::make_unique<Redis>(loop_, resolver_, network_, added.config, scripts_, process_,
                                        static_cast<RedisEvents&>(*this), sink_, static_cast<Neighbours*>(this));
  return added;
}

/// By which name a node's certificate is verified: the configured server name; otherwise the host name that the node
/// announces; otherwise its address, if the configuration lists that; otherwise the host by which the cluster was
/// reached.
RedisConfig Cluster::node_config(const SlotMap::Node& node) const {
  RedisConfig config = config_;
  config.host = node.endpoint.address;
  config.port = node.endpoint.port;
  if (!config.tls || !config.tls->server_name.empty()) return config;
  const bool is_of_url = std::ranges::find(config_.cluster, config.host, &Endpoint::address) != config_.cluster.end();
  const std::string& by_host = is_of_url || !is_address(config.host) ? config.host : config_.host;
  config.tls->server_name = node.name.empty() ? by_host : node.name;
  return config;
}

/// The node to which MOVED or ASK leads. Nothing: its address alone is known, and the name of its certificate is only
/// in a map that is still to come, since this cluster's nodes announce host names.
std::optional<SlotMap::Node> Cluster::redirect_target(const Endpoint& endpoint) const {
  if (const auto* const known = map_.find_node(endpoint)) return *known;
  const auto announces = [](const SlotMap::Node& node) { return !node.name.empty(); };
  const bool by_name = config_.tls && config_.tls->server_name.empty() && is_address(endpoint.address);
  if (by_name && std::ranges::any_of(map_.nodes(), announces)) return std::nullopt;
  return SlotMap::Node{.endpoint = endpoint, .name = {}};
}

void Cluster::publish_to_all(std::string_view payload) {
  if (Redis* const up = first_up()) up->publish_to_all(payload);
}

Redis* Cluster::first_up() const {
  const auto up = std::ranges::find_if(nodes_, [](const auto& node) { return node->redis->up(); });
  return up == nodes_.end() ? nullptr : (*up)->redis.get();
}

bool Cluster::up() const {
  return !nodes_.empty() && unserved_.none() &&
         std::ranges::all_of(nodes_, [](const auto& node) { return node->redis->up(); });
}

std::vector<std::string> Cluster::lacks() const {
  std::vector<std::string> all;
  if (slots_refused_) all.emplace_back("+cluster|slots");
  for (const auto& node : nodes_) {
    for (auto& rule : node->redis->lacks()) {
      if (std::ranges::find(all, rule) == all.end()) all.push_back(std::move(rule));
    }
  }
  return all;
}

/// A node that goes down in it may lead to another, which is added.
void Cluster::tick(bool in_use) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->redis->tick(in_use);
}

Counts Cluster::counts() const {
  Counts all = dropped_counts_;
  for (const auto& node : nodes_) all.add(node->redis->counts());
  return all;
}

std::vector<RedisNodeSnapshot> Cluster::nodes() const {
  std::vector<RedisNodeSnapshot> all;
  all.reserve(nodes_.size());
  for (const auto& node : nodes_) all.push_back({.name = place_of(node->config), .up = node->redis->up()});
  return all;
}

// What nodes tell.

void Cluster::on_up() {
  choose_listener();
  events_.on_up();
}

void Cluster::on_down() {
  choose_listener();
  events_.on_down();
}

void Cluster::on_failure(FailureKind kind) {
  if (puts_map_in_doubt(kind)) refresh_.request();
  events_.on_failure(kind);
}

/// A script must have a key in a slot of the node on which it is tried.
std::string Cluster::find_hash_tag(const Redis& redis) {
  const Endpoint endpoint{redis.place().host, redis.place().port};
  if (!map_.has_slots(endpoint)) return {};
  const auto first = network_.draw() % 1000;  // another one each time: its slot may just be on its way
  for (std::uint64_t i = 0; i < kTagsTried; ++i) {
    std::string tag = "{probe" + std::to_string(first + i) + "}";
    const auto* const owner = map_.owner(slot_of(tag));
    if (owner && owner->endpoint == endpoint) return tag;
  }
  return {};
}

/// MOVED: another node owns the slot now, and the map is corrected. The call fails, since the new owner may have
/// taken over without the latest writes: the caller first replays what it remembers, and then calls again.
/// ASK: the slot is being moved, and the keys of this call have already reached the other node. So the call is
/// forwarded to it; the map stays as it is.
bool Cluster::redirect(const Redis& by, Call& call, Failure& why) {
  if (why.kind != FailureKind::moved) return false;
  const auto to = redirection_in(why.text, by.place().host);
  const auto target = to ? redirect_target(to->endpoint) : std::nullopt;
  if (to && !to->once) {
    if (target && refresh_.running()) moved_meanwhile_[to->slot] = to->endpoint;
    if (target && map_.move(to->slot, to->endpoint)) events_.on_moved();
    return false;
  }
  if (target && !call.asking) {
    Node& other = find_or_connect(*target);
    other.last_forward = loop_.now();
    if (other.redis->up()) {
      other.redis->forward(std::move(call));
      return true;
    }
  }
  why.kind = FailureKind::tryagain;
  return false;
}

/// Every node passes on what is published anywhere, so one connection hears all.
void Cluster::choose_listener() {
  if (listener_ && listener_->up()) return;
  if (Redis* const was = std::exchange(listener_, nullptr)) was->set_listens(false);
  listener_ = first_up();
  if (listener_) listener_->set_listens(true);
}

// The map.

/// The nodes to ask, in this order: nodes that are up, a few other nodes of the map, the hosts of the configuration,
/// nodes that are down. A node that is down may be cut off from the others, and would then answer with an old map.
std::vector<Place> Cluster::map_sources() {
  std::vector<Place> places, down;
  const auto add = [&](Place place) {
    const bool is_known =
        std::ranges::find(places, place) != places.end() || std::ranges::find(down, place) != down.end();
    if (!is_known) places.push_back(std::move(place));
  };
  for (const auto& node : nodes_) (node->redis->up() ? places : down).push_back(place_in(node->config));
  const auto& all = map_.nodes();
  const auto first = all.empty() ? 0 : network_.draw() % all.size();
  for (std::size_t i = 0; i < std::min(all.size(), kUnconnectedSources); ++i)
    add(place_in(node_config(all[(first + i) % all.size()])));
  const auto& hosts = config_.cluster;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto& [host, port] = hosts[(first_host_ + i) % hosts.size()];
    Place place = place_in(config_);
    place.host = host;
    place.port = port;
    add(std::move(place));
  }
  places.insert(places.end(), down.begin(), down.end());
  return places;
}

void Cluster::refresh_map() {
  moved_meanwhile_.clear();
  const auto until = map_.empty() ? loop_.now() + kFirstMapWithin : std::numeric_limits<std::int64_t>::max();
  finder_ = std::make_unique<SlotsFinder>(
      loop_, resolver_, network_, config_, map_sources(), until,
      [this](const std::vector<Endpoint>& there) { events_.on_found(there); },
      [this](std::expected<SlotMap, Failure> map) { map_read(std::move(map)); });
}

void Cluster::map_read(std::expected<SlotMap, Failure> map) {
  refresh_.finished();
  slots_refused_ = !map && map.error().kind == FailureKind::noperm;
  if (!map) {
    refresh_.request();
    first_host_ += kHostsInTime;
    if (!map_.empty()) return;
    notices_.down(loop_.now(), map.error());
    return events_.on_failure(map.error().kind);
  }
  if (map_.empty()) notices_.up(loop_.now());
  map_ = std::move(*map);
  bool was_outdated = false;
  for (const auto& [slot, endpoint] : moved_meanwhile_)
    was_outdated |= redirect_target(endpoint) && map_.move(slot, endpoint);
  events_.on_found(map_.endpoints());
  events_.on_moved();
  drop_unused_nodes();
  report_unserved();
  refresh_.schedule(was_outdated || !up());
}

/// To be called after on_moved(), in which every upstream asks for its node again.
void Cluster::report_unserved() {
  unserved_.forget(map_, loop_.now());
  const auto news = unserved_.take_news(loop_.now());
  if (!news) return;
  if (news->first) {
    if (news->with_notice)
      notices_.say(LogLevel::warn, "no node has slot " + std::to_string(*news->first) +
                                       ", where keys of ours belong: redis-cli --cluster fix gives such slots to a "
                                       "node. Until then upstreams whose keys belong there go by whenDown");
    events_.on_failure(FailureKind::unserved);
    return events_.on_down();
  }
  if (news->with_notice) notices_.say(LogLevel::info, "each slot where keys of ours belong has a node again");
  if (first_up()) events_.on_up();
}

/// A node to which ASK leads may have no slot yet, and then the map does not name it. A node whose host name was not
/// known before is dropped, too: the next call connects to it by that name.
void Cluster::drop_unused_nodes() {
  const auto is_used = [&](const auto& node) {
    if (node->last_forward && loop_.now() - *node->last_forward < kKeptAfterForward) return true;
    const Endpoint endpoint{node->config.host, node->config.port};
    const auto* const known = map_.find_node(endpoint);
    const bool is_named_so = known && place_in(node_config(*known)) == place_in(node->config);
    return map_.has_slots(endpoint) && is_named_so && loop_.now() - node->last_used < kSlotIdleTimeout;
  };
  const auto unused = std::ranges::stable_partition(nodes_, is_used);
  std::vector<std::unique_ptr<Node>> dropped(std::make_move_iterator(unused.begin()),
                                             std::make_move_iterator(unused.end()));
  nodes_.erase(unused.begin(), unused.end());
  for (const auto& node : dropped) {
    if (listener_ == node->redis.get()) listener_ = nullptr;
    dropped_counts_.add(node->redis->counts());
    node->redis->retire();
  }
  choose_listener();
}

}  // namespace penstock::redis
