//===- Catalog.cpp - The contents of a snapshot -----------------------------------------------===//

#include "runtime/store/Catalog.h"

#include "runtime/store/Checksum.h"
#include "runtime/store/StoreError.h"

#include <algorithm>
#include <fmt/format.h>
#include <sqlite3.h>
#include <string_view>
#include <utility>

using namespace updraft::store;

/// "Updr", which `file` and other programs tell databases by.
static constexpr int applicationId = 0x55706472;
/// The version of the schema, of the journal and of the names of files together.
static constexpr int format = 1;

static constexpr const char *schema = R"(
  CREATE TABLE store (number INTEGER NOT NULL);
  CREATE TABLE snapshot (
    number INTEGER NOT NULL, record INTEGER NOT NULL, file TEXT NOT NULL, checksum INTEGER NOT NULL,
    digest INTEGER NOT NULL);
  CREATE TABLE optimizer (
    name TEXT PRIMARY KEY, request BLOB NOT NULL, package BLOB NOT NULL,
    states TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE answer (
    client TEXT NOT NULL, sequence INTEGER NOT NULL, value INTEGER NOT NULL,
    PRIMARY KEY (client, sequence)) WITHOUT ROWID;
  CREATE TABLE client (name TEXT PRIMARY KEY, forgotten INTEGER NOT NULL) WITHOUT ROWID;
)";

/// A checksum of all rows. SQLite has none, and would return a damaged number as any other.
static uint64_t digestOf(const Snapshot &snapshot) {
  std::string text;
  const auto addNumber = [&](uint64_t value) {
    text.append(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  const auto addText = [&](const std::string &value) {
    addNumber(value.size());
    text += value;
  };
  const auto addFile = [&](const SnapshotFile &file) {
    addText(file.name);
    addNumber(file.checksum);
  };
  addNumber(snapshot.number);
  addNumber(snapshot.record);
  addFile(snapshot.parameters);
  addNumber(snapshot.optimizers.size());
  for (const StoredOptimizer &one : snapshot.optimizers) {
    addText(one.name);
    addText(one.request);
    addText(one.package);
    addFile(one.states);
  }
  addNumber(snapshot.answers.size());
  for (const StoredAnswer &one : snapshot.answers) {
    addText(one.client);
    addNumber(one.sequence);
    addNumber(static_cast<uint64_t>(one.value));
  }
  for (const StoredClient &one : snapshot.clients) {
    addText(one.name);
    addNumber(one.forgotten);
  }
  return checksum({text}, 0);
}

/// A prepared statement. Parameters and columns are counted by the calls.
class Catalog::Statement {
public:
  Statement(Catalog &catalog, const char *sql) : catalog(catalog) {
    catalog.check(sqlite3_prepare_v2(catalog.database, sql, -1, &statement, nullptr), sql);
  }
  ~Statement() { sqlite3_finalize(statement); }
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;

  Statement &bind(uint64_t value) {
    return bound(sqlite3_bind_int64(statement, ++parameter, static_cast<int64_t>(value)));
  }
  Statement &bind(int64_t value) {
    return bound(sqlite3_bind_int64(statement, ++parameter, value));
  }
  Statement &bindText(std::string_view text) {
    return bound(sqlite3_bind_text64(statement, ++parameter, text.data(), text.size(),
                                     SQLITE_STATIC, SQLITE_UTF8));
  }
  Statement &bindBytes(std::string_view bytes) {
    return bound(sqlite3_bind_blob64(statement, ++parameter, bytes.empty() ? "" : bytes.data(),
                                     bytes.size(), SQLITE_STATIC));
  }

  /// Runs the statement for what was bound.
  void run() {
    step();
    sqlite3_reset(statement);
    parameter = 0;
  }
  /// The next row; false after the last.
  bool next() {
    column = 0;
    return step();
  }

  int64_t number() { return sqlite3_column_int64(statement, column++); }
  std::string bytes() {
    const void *data = sqlite3_column_blob(statement, column);
    const int size = sqlite3_column_bytes(statement, column++);
    return {static_cast<const char *>(data), static_cast<size_t>(size)};
  }

private:
  Statement &bound(int code) {
    catalog.check(code, sqlite3_sql(statement));
    return *this;
  }
  bool step() {
    const int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
      catalog.check(code, sqlite3_sql(statement));
    return code == SQLITE_ROW;
  }

  Catalog &catalog;
  sqlite3_stmt *statement = nullptr;
  int parameter = 0, column = 0;
};

void Catalog::check(int code, const char *what) {
  if (code == SQLITE_OK)
    return;
  files.rethrow();
  const int kind = code & 0xff;
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB)
    throw StoreError(StoreError::Kind::Damaged,
                     fmt::format("`{}` is damaged: {}; restore it from a copy", fileName,
                                 sqlite3_errmsg(database)));
  throw StoreError(StoreError::Kind::Failed,
                   fmt::format("`{}`: {} ({})", fileName, sqlite3_errmsg(database), what));
}

void Catalog::run(const char *sql) {
  check(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), sql);
}

Catalog::Catalog(Disk &disk, uint64_t newStore) : files(disk) {
  try {
    check(sqlite3_open_v2(fileName, &database,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                          files.name()),
          "open");
    // One connection and no shared memory; each commit is on the disk when it returns.
    run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; PRAGMA synchronous = "
        "EXTRA; "
        "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON;");
    Statement version(*this, "SELECT user_version, application_id FROM pragma_user_version, "
                             "pragma_application_id");
    version.next();
    const int64_t found = version.number();
    const int64_t application = version.number();
    version.next();
    if (found == 0 && application == 0)
      create(newStore);
    else if (application != applicationId)
      throw StoreError(StoreError::Kind::Damaged,
                       fmt::format("`{}` is not a catalog of a store", fileName));
    else if (found > format)
      throw StoreError(StoreError::Kind::Newer,
                       fmt::format("the store has format {}, and this worker knows up to {}; use a "
                                   "newer updraft-worker",
                                   found, format));
    Statement store(*this, "SELECT number FROM store");
    if (!store.next())
      throw StoreError(StoreError::Kind::Damaged, fmt::format("`{}` has no store", fileName));
    number = static_cast<uint64_t>(store.number());
  } catch (...) {
    sqlite3_close_v2(database);
    throw;
  }
}

Catalog::~Catalog() { sqlite3_close(database); }

void Catalog::create(uint64_t newStore) {
  run(fmt::format("BEGIN EXCLUSIVE; PRAGMA application_id = {}; PRAGMA user_version = {}; {}",
                  applicationId, format, schema)
          .c_str());
  Statement(*this, "INSERT INTO store VALUES (?)").bind(newStore).run();
  Statement(*this, "INSERT INTO snapshot VALUES (0, 0, '', 0, ?)").bind(digestOf({})).run();
  run("COMMIT");
}

Snapshot Catalog::snapshot() {
  Snapshot result;
  const auto checksumOf = [](Statement &row) { return static_cast<uint64_t>(row.number()); };
  Statement snapshot(*this, "SELECT number, record, file, checksum, digest FROM snapshot");
  if (!snapshot.next())
    throw StoreError(StoreError::Kind::Damaged, fmt::format("`{}` has no snapshot", fileName));
  result.number = static_cast<uint64_t>(snapshot.number());
  result.record = static_cast<uint64_t>(snapshot.number());
  result.parameters.name = snapshot.bytes();
  result.parameters.checksum = checksumOf(snapshot);
  const auto digest = static_cast<uint64_t>(snapshot.number());
  Statement optimizers(*this, "SELECT name, request, package, states, checksum FROM optimizer "
                              "ORDER BY name");
  while (optimizers.next()) {
    StoredOptimizer &one = result.optimizers.emplace_back();
    one.name = optimizers.bytes();
    one.request = optimizers.bytes();
    one.package = optimizers.bytes();
    one.states.name = optimizers.bytes();
    one.states.checksum = checksumOf(optimizers);
  }
  Statement answers(*this, "SELECT client, sequence, value FROM answer ORDER BY client, sequence");
  while (answers.next()) {
    StoredAnswer &one = result.answers.emplace_back();
    one.client = answers.bytes();
    one.sequence = static_cast<uint64_t>(answers.number());
    one.value = answers.number();
  }
  Statement clients(*this, "SELECT name, forgotten FROM client ORDER BY name");
  while (clients.next()) {
    StoredClient &one = result.clients.emplace_back();
    one.name = clients.bytes();
    one.forgotten = static_cast<uint64_t>(clients.number());
  }
  if (digest != digestOf(result))
    throw StoreError(StoreError::Kind::Damaged,
                     fmt::format("`{}` is damaged: its rows are not what was written; restore it "
                                 "from a copy",
                                 fileName));
  return result;
}

void Catalog::replace(Snapshot snapshot) {
  // As the rows are read, for the digest. SQLite's numbers are signed.
  std::ranges::sort(snapshot.optimizers, {}, &StoredOptimizer::name);
  std::ranges::sort(snapshot.clients, {}, &StoredClient::name);
  std::ranges::sort(snapshot.answers, {}, [](const StoredAnswer &one) {
    return std::pair(one.client, static_cast<int64_t>(one.sequence));
  });
  run("BEGIN EXCLUSIVE");
  try {
    run("DELETE FROM snapshot; DELETE FROM optimizer; DELETE FROM answer; DELETE FROM client;");
    Statement(*this, "INSERT INTO snapshot VALUES (?, ?, ?, ?, ?)")
        .bind(snapshot.number)
        .bind(snapshot.record)
        .bindText(snapshot.parameters.name)
        .bind(snapshot.parameters.checksum)
        .bind(digestOf(snapshot))
        .run();
    Statement optimizer(*this, "INSERT INTO optimizer VALUES (?, ?, ?, ?, ?)");
    for (const StoredOptimizer &one : snapshot.optimizers)
      optimizer.bindText(one.name)
          .bindBytes(one.request)
          .bindBytes(one.package)
          .bindText(one.states.name)
          .bind(one.states.checksum)
          .run();
    Statement answer(*this, "INSERT INTO answer VALUES (?, ?, ?)");
    for (const StoredAnswer &one : snapshot.answers)
      answer.bindText(one.client).bind(one.sequence).bind(one.value).run();
    Statement client(*this, "INSERT INTO client VALUES (?, ?)");
    for (const StoredClient &one : snapshot.clients)
      client.bindText(one.name).bind(one.forgotten).run();
    run("COMMIT");
  } catch (...) {
    sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr); // fails without a transaction
    throw;
  }
}
