#include "reports/ledger/sqlite.h"

#include <sqlite3.h>

#include <chrono>
#include <utility>

#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

constexpr std::string_view kWriterDied = "triodrill/ledger/writer-died";

// What the last call on `database` said.
Status Failed(sqlite3* database, std::string_view operation, const std::string& path) {
  const int code = database == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(database);
  const std::string said = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
  const auto message = [&](std::string_view hint) { return Cat(operation, " ledger ", path, ": ", said, hint); };
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(message("; another process is writing to it, try again"));
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(message("; restore it from a copy, or add the bundles to a new one"));
    case SQLITE_READONLY: {
      Status status = absl::PermissionDeniedError(message("; its owner must do this"));
      if (code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY) {
        status.SetPayload(View(kWriterDied), absl::Cord());
      }
      return status;
    }
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(message("; look at the file's owner, mode and directory"));
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return absl::FailedPreconditionError(message("; look at the disk; nothing of this call was kept"));
    default:
      return absl::InternalError(message(""));
  }
}

int BindOne(sqlite3_stmt* statement, int index, const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return sqlite3_bind_int64(statement, index, *number);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, index, *real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, index);
}

}  // namespace

void Statement::Closer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Closer::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<bool> Statement::Next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Failed(database_, "use", *name_);
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::optional<int64_t> Statement::OptionalInt(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return Int(column);
}

std::optional<double> Statement::OptionalReal(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_.get(), column);
}

Database::Database(std::string path, sqlite3* database)
    : name_(std::make_unique<std::string>(std::move(path))), database_(database) {}

Result<Database> Database::Open(const std::string& path, Mode mode, Nanos patience) {
  // Names that mean something else to SQLite (":memory:") are files here.
  const std::string file = path.starts_with('/') ? path : Cat("./", path);
  sqlite3* opened = nullptr;
  const int flags = mode == Mode::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  const int code = sqlite3_open_v2(file.c_str(), &opened, flags | SQLITE_OPEN_EXRESCODE, nullptr);
  Database database(path, opened);
  if (code != SQLITE_OK) return Failed(opened, "open", path);
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(patience).count();
  sqlite3_busy_timeout(opened, static_cast<int>(wait));
  // The file may come from somebody else: nothing that its schema says is trusted to have effects.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  TRIODRILL_RETURN_IF_ERROR(database.Run("PRAGMA foreign_keys = ON"));
  return database;
}

Result<Statement> Database::Query(std::string_view sql, std::initializer_list<SqlValue> values) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &prepared, nullptr) != SQLITE_OK) {
    return Failed(database_.get(), "use", *name_);
  }
  Statement statement(database_.get(), name_.get(), prepared);
  int index = 0;
  for (const SqlValue& value : values) {
    if (BindOne(prepared, ++index, value) != SQLITE_OK) return Failed(database_.get(), "use", *name_);
  }
  return statement;
}

Status Database::Run(std::string_view sql, std::initializer_list<SqlValue> values) {
  TRIODRILL_ASSIGN_OR_RETURN(Statement statement, Query(sql, values));
  for (;;) {
    TRIODRILL_ASSIGN_OR_RETURN(const bool row, statement.Next());
    if (!row) return Ok();
  }
}

Status Database::RunAll(std::string_view sql) {
  while (!sql.empty()) {
    sqlite3_stmt* prepared = nullptr;
    const char* rest = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &prepared, &rest) != SQLITE_OK) {
      return Failed(database_.get(), "use", *name_);
    }
    Statement statement(database_.get(), name_.get(), prepared);
    sql.remove_prefix(static_cast<size_t>(rest - sql.data()));
    if (prepared == nullptr) continue;  // blanks at the end
    TRIODRILL_RETURN_IF_ERROR(statement.Next().status());
  }
  return Ok();
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

bool Database::WriterDied(const Status& status) { return status.GetPayload(View(kWriterDied)).has_value(); }

Result<Transaction> Transaction::Begin(Database& database) {
  TRIODRILL_RETURN_IF_ERROR(database.Run("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) database_->Run("ROLLBACK").IgnoreError();
}

Status Transaction::Commit() {
  TRIODRILL_RETURN_IF_ERROR(database_->Run("COMMIT"));
  database_ = nullptr;
  return Ok();
}

}  // namespace triodrill::ledger
