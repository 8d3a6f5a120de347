#include "app/workspace/runs/run_store.h"

#include <sqlite3.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <utility>

#include "core/base/error.h"
#include "core/io/json/json.h"

namespace trainyard {
namespace {

constexpr int kVersion = 1;
constexpr int kApplication = 0x54726169;  // "Trai": the application id in the file's header
constexpr int kPatience = 30'000;         // ms that a change waits for one of another process
constexpr std::size_t kMostWords = 100, kLongestTag = 64;

constexpr const char* kTables = R"(
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started TEXT NOT NULL, name TEXT NOT NULL,
    model TEXT NOT NULL, cluster TEXT NOT NULL, plan TEXT NOT NULL,
    settings TEXT NOT NULL, training TEXT NOT NULL, calibration TEXT NOT NULL, data TEXT NOT NULL,
    outcome TEXT NOT NULL, steps INTEGER NOT NULL, loss REAL,
    step INTEGER, predicted_step INTEGER, peak INTEGER, predicted_peak INTEGER,
    note TEXT NOT NULL, document TEXT NOT NULL, timeline TEXT NOT NULL);
  CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE, tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)) WITHOUT ROWID;
)";

// The columns that the list shows, in the order in which entry_of() reads them.
constexpr const char* kEntry =
    "id, started, name, model, cluster, plan, settings, training, calibration, data, outcome, "
    "steps, loss, step, predicted_step, peak, predicted_peak, note, "
    "(SELECT json_group_array(tag) FROM (SELECT tag FROM tags WHERE run = id ORDER BY tag))";

// The text in which words are searched.
constexpr const char* kHaystack =
    "(started || ' ' || name || ' ' || model || ' ' || cluster || ' ' || plan || ' ' || settings "
    "|| ' ' || training || ' ' || data || ' ' || outcome || ' ' || note || ' ' || coalesce((SELECT "
    "group_concat(tag, ' ') FROM tags WHERE run = id), ''))";

std::string list_text(const std::vector<std::string>& words) {
  Json list = Json::list();
  for (const std::string& word : words) list.push(word);
  return write_json_line(list);
}

std::vector<std::string> list_of(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  std::vector<std::string> words;
  for (const JsonCursor& word : JsonCursor(json, source).items()) words.push_back(word.text());
  return words;
}

void expect_tag(std::string_view tag) {
  const bool blank = std::any_of(tag.begin(), tag.end(), [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == '\x7f';
  });
  if (!blank && !tag.empty() && tag.size() <= kLongestTag) return;
  throw Error(Error::Kind::InvalidInput,
              "expected 1 to 64 characters without blanks and commas, found \"" +
                  std::string(tag.substr(0, kLongestTag)) + "\"",
              {"tag"});
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = text.find_first_not_of(" \t\n", at);
    if (from == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\n", from), text.size());
    words.emplace_back(text.substr(from, at - from));
  }
  if (words.size() > kMostWords)
    throw Error(Error::Kind::InvalidInput,
                "expected at most 100 words, found " + std::to_string(words.size()), {"search"});
  return words;
}

std::string pattern_of(const std::string& word) {
  std::string pattern = "%";
  for (const char c : word) {
    if (c == '%' || c == '_' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern + "%";
}

}  // namespace

struct RunStore::Database {
  explicit Database(const std::string& file) : path(file) {
    const int opened =
        sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    try {
      if (opened != SQLITE_OK) fail("opening the run list");
      sqlite3_busy_timeout(handle, kPatience);
      run("PRAGMA foreign_keys = ON");
    } catch (...) {
      sqlite3_close(handle);
      throw;
    }
  }
  ~Database() { sqlite3_close(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[noreturn]] void fail(const std::string& doing) const {
    if (handle != nullptr && sqlite3_errcode(handle) == SQLITE_NOTADB) refuse_file();
    throw Error(Error::Kind::Io,
                doing + " failed: " +
                    (handle == nullptr ? "out of memory" : std::string(sqlite3_errmsg(handle))),
                {path});
  }
  [[noreturn]] void refuse_file() const {
    throw Error(Error::Kind::InvalidInput, "expected a run list, found another file", {path});
  }
  void run(const char* sql) const {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      fail("working in the run list");
  }

  std::string path;
  sqlite3* handle = nullptr;
};

namespace {

// One statement with its values; bound values must outlive it.
class Query {
 public:
  template <class Db>
  Query(const Db& db, const std::string& sql) : fail_([&db] { db.fail("asking the run list"); }) {
    if (sqlite3_prepare_v2(db.handle, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) fail_();
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& add(std::string_view text) {
    const char* bytes = text.data() == nullptr ? "" : text.data();
    return bound(
        sqlite3_bind_text(statement_, ++values_, bytes, static_cast<int>(text.size()), nullptr));
  }
  Query& add(std::int64_t number) {
    return bound(sqlite3_bind_int64(statement_, ++values_, number));
  }
  /// Binds null if the number is not finite.
  Query& add_finite(double number) {
    return std::isfinite(number) ? bound(sqlite3_bind_double(statement_, ++values_, number))
                                 : add_nothing();
  }
  Query& add(std::optional<Duration> time) { return time ? add(time->count()) : add_nothing(); }
  Query& add(std::optional<Bytes> bytes) { return bytes ? add(bytes->value) : add_nothing(); }

  /// Returns false if there is no further row.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) fail_();
    return result == SQLITE_ROW;
  }
  std::string text(int column) const {
    const unsigned char* bytes = sqlite3_column_text(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? "" : std::string(reinterpret_cast<const char*>(bytes), size);
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  bool has(int column) const { return sqlite3_column_type(statement_, column) != SQLITE_NULL; }
  std::optional<double> real(int column) const {
    if (!has(column)) return std::nullopt;
    return sqlite3_column_double(statement_, column);
  }

 private:
  Query& bound(int result) {
    if (result != SQLITE_OK) fail_();
    return *this;
  }
  Query& add_nothing() { return bound(sqlite3_bind_null(statement_, ++values_)); }

  std::function<void()> fail_;
  sqlite3_stmt* statement_ = nullptr;
  int values_ = 0;
};

// A transaction: all of it or nothing takes effect, whatever happens to this process or others
// meanwhile.
template <class Db>
class Change {
 public:
  explicit Change(const Db& db) : db_(db) { db_.run("BEGIN IMMEDIATE"); }
  ~Change() {
    if (!done_) sqlite3_exec(db_.handle, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  void commit() {
    db_.run("COMMIT");
    done_ = true;
  }

 private:
  const Db& db_;
  bool done_ = false;
};

RunEntry entry_of(const Query& row, const std::string& source) {
  RunEntry entry;
  entry.id = row.number(0);
  entry.started = row.text(1);
  entry.name = row.text(2);
  entry.model = row.text(3);
  entry.cluster = row.text(4);
  entry.plan = row.text(5);
  entry.settings = list_of(row.text(6), source);
  entry.training = list_of(row.text(7), source);
  entry.calibration = row.text(8);
  entry.data = row.text(9);
  entry.outcome = row.text(10);
  entry.steps = row.number(11);
  entry.loss = row.real(12);
  if (row.has(13)) entry.step = Duration{row.number(13)};
  if (row.has(14)) entry.predicted_step = Duration{row.number(14)};
  if (row.has(15)) entry.peak = Bytes{row.number(15)};
  if (row.has(16)) entry.predicted_peak = Bytes{row.number(16)};
  entry.note = row.text(17);
  entry.tags = list_of(row.text(18), source);
  return entry;
}

template <class Db>
std::int64_t pragma(const Db& db, const char* name) {
  Query query(db, std::string("PRAGMA ") + name);
  return query.step() ? query.number(0) : 0;
}

// The first process makes the tables; any other that arrives at the same time waits and finds them.
template <class Db>
void make_tables(const Db& db) {
  if (pragma(db, "user_version") != 0) return;
  Change<Db> change(db);
  if (pragma(db, "user_version") == 0) {
    Query tables(db, "SELECT count(*) FROM sqlite_master");
    if (tables.step() && tables.number(0) != 0) db.refuse_file();
    db.run(kTables);
    db.run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
    db.run(("PRAGMA user_version = " + std::to_string(kVersion)).c_str());
  }
  change.commit();
}

}  // namespace

std::string run_store_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (std::string own = variable("TRAINYARD_RUNS"); !own.empty()) return own;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty())
    return data + "/trainyard/runs.sqlite";
  if (const std::string home = variable("HOME"); !home.empty())
    return home + "/.local/share/trainyard/runs.sqlite";
  throw Error(Error::Kind::InvalidInput,
              "expected the place of the run list in TRAINYARD_RUNS, XDG_DATA_HOME or HOME, found "
              "none of them set",
              {"run list"});
}

RunStore::RunStore(std::string path) : path_(std::move(path)) {
  if (const auto folder = std::filesystem::path(path_).parent_path(); !folder.empty()) {
    std::error_code wrong;
    std::filesystem::create_directories(folder, wrong);
    if (wrong)
      throw Error(Error::Kind::Io, "making the folder of the run list failed: " + wrong.message(),
                  {folder.string()});
  }
  db_ = std::make_unique<Database>(path_);
  make_tables(*db_);
  if (pragma(*db_, "application_id") != kApplication) db_->refuse_file();
  if (const std::int64_t version = pragma(*db_, "user_version"); version > kVersion)
    throw Error(Error::Kind::InvalidInput,
                "expected a run list of version " + std::to_string(kVersion) + ", found version " +
                    std::to_string(version) + ", which a newer Trainyard wrote",
                {path_});
}

RunStore::~RunStore() = default;

std::int64_t RunStore::add(const RecordedRun& run) {
  const RunEntry& e = run.entry;
  for (const std::string& tag : e.tags) expect_tag(tag);
  const std::string settings = list_text(e.settings), training = list_text(e.training);
  Change change(*db_);
  Query insert(*db_,
               "INSERT INTO runs (started, name, model, cluster, plan, settings, training, "
               "calibration, data, outcome, steps, loss, step, predicted_step, peak, "
               "predicted_peak, note, document, timeline) VALUES "
               "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const std::string* text : {&e.started, &e.name, &e.model, &e.cluster, &e.plan, &settings,
                                  &training, &e.calibration, &e.data, &e.outcome})
    insert.add(*text);
  insert.add(e.steps).add_finite(e.loss.value_or(std::nan("")));
  insert.add(e.step).add(e.predicted_step).add(e.peak).add(e.predicted_peak);
  insert.add(e.note).add(run.document).add(run.timeline).step();
  const std::int64_t id = sqlite3_last_insert_rowid(db_->handle);
  for (const std::string& tag : e.tags)
    Query(*db_, "INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)").add(id).add(tag).step();
  change.commit();
  return id;
}

std::vector<RunEntry> RunStore::list(std::string_view words) const {
  std::vector<std::string> values;
  std::string sql = fmt::format("SELECT {} FROM runs WHERE 1", kEntry);
  for (const std::string& word : words_of(words)) {
    const bool tag = word.starts_with("tag:");
    sql += tag ? " AND EXISTS (SELECT 1 FROM tags WHERE run = id AND tag = ?)"
               : std::string(" AND ") + kHaystack + " LIKE ? ESCAPE '\\'";
    values.push_back(tag ? word.substr(4) : pattern_of(word));
  }
  Query query(*db_, sql + " ORDER BY id DESC");
  for (const std::string& value : values) query.add(value);
  std::vector<RunEntry> entries;
  while (query.step()) entries.push_back(entry_of(query, path_));
  return entries;
}

RecordedRun RunStore::get(std::int64_t id) const {
  expect_run(id);
  Query query(*db_, fmt::format("SELECT {}, document, timeline FROM runs WHERE id = ?", kEntry));
  if (!query.add(id).step()) expect_run(id);  // another process has removed it since
  return {entry_of(query, path_), query.text(19), query.text(20)};
}

void RunStore::expect_run(std::int64_t id) const {
  if (Query(*db_, "SELECT 1 FROM runs WHERE id = ?").add(id).step()) return;
  Query ends(*db_, "SELECT min(id), max(id) FROM runs");
  const bool any = ends.step() && ends.has(0);
  throw Error(Error::Kind::InvalidInput,
              "no run has the number " + std::to_string(id) +
                  (any ? "; the list has " + std::to_string(ends.number(0)) + " to " +
                             std::to_string(ends.number(1))
                       : std::string("; the list is empty")),
              {path_});
}

void RunStore::set_note(std::int64_t id, std::string_view note) {
  Change change(*db_);
  expect_run(id);
  Query(*db_, "UPDATE runs SET note = ? WHERE id = ?").add(note).add(id).step();
  change.commit();
}

void RunStore::add_tag(std::int64_t id, std::string_view tag) {
  expect_tag(tag);
  Change change(*db_);
  expect_run(id);
  Query(*db_, "INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)").add(id).add(tag).step();
  change.commit();
}

void RunStore::remove_tag(std::int64_t id, std::string_view tag) {
  expect_tag(tag);
  Change change(*db_);
  expect_run(id);
  Query(*db_, "DELETE FROM tags WHERE run = ? AND tag = ?").add(id).add(tag).step();
  change.commit();
}

void RunStore::remove(std::int64_t id) {
  Change change(*db_);
  expect_run(id);
  Query(*db_, "DELETE FROM runs WHERE id = ?").add(id).step();
  change.commit();
}

}  // namespace trainyard
