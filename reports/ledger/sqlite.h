// SQLite, as much of it as a ledger needs: prepared statements only, every text bound and never put into SQL. A
// Database and its statements belong to one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "triodrill/status.h"
#include "triodrill/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace triodrill::ledger {

using SqlValue = std::variant<std::monostate, int64_t, double, std::string>;

// One statement that was prepared, with its values: Next() goes from row to row. Must not outlive its Database.
class Statement {
 public:
  Result<bool> Next();  // false: there are no more rows

  int64_t Int(int column) const;
  std::string Text(int column) const;  // "" for NULL
  std::optional<int64_t> OptionalInt(int column) const;
  std::optional<double> OptionalReal(int column) const;

 private:
  friend class Database;
  struct Closer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3* database, const std::string* name, sqlite3_stmt* statement)
      : database_(database), name_(name), statement_(statement) {}

  sqlite3* database_;
  const std::string* name_;  // of the file, for errors
  std::unique_ptr<sqlite3_stmt, Closer> statement_;
};

class Database {
 public:
  enum class Mode { kRead, kWrite };

  // The file must exist. Another process that holds it is waited for as long as `patience` says, at each step.
  static Result<Database> Open(const std::string& path, Mode mode, Nanos patience);

  // One statement with ?1, ?2, … bound in order.
  Result<Statement> Query(std::string_view sql, std::initializer_list<SqlValue> values = {});
  Status Run(std::string_view sql, std::initializer_list<SqlValue> values = {});
  Status RunAll(std::string_view sql);  // several statements, without values
  int64_t last_id() const;              // of the row that was put in last

  // The kind of a failed call: busy is Unavailable, no ledger or a damaged one DataLoss.
  static bool WriterDied(const Status& status);

 private:
  struct Closer {
    void operator()(sqlite3* database) const;
  };
  Database(std::string path, sqlite3* database);

  std::unique_ptr<std::string> name_;
  std::unique_ptr<sqlite3, Closer> database_;
};

// Begins at once (IMMEDIATE: nobody else writes meanwhile); undone with the value unless committed.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;

  Status Commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace triodrill::ledger
