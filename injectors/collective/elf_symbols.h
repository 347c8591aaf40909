// Finds a symbol that one loaded object defines, by its own table: dlsym would look in the caller's namespace, which is
// the wrong one in an audit library and for an object that dlmopen put into another. Reads only; any thread, as long as
// the object stays loaded.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace triodrill::collective {

// What the loader's tables hold are addresses.
template <typename T>
T* AtAddress(uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

struct SymbolTable {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* hash = nullptr;  // DT_GNU_HASH
};

inline SymbolTable TableOf(const link_map& object) {
  SymbolTable table;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    // Relocated by the dynamic loader of glibc; not where the section is read-only, as the kernel's own object's is.
    const auto address = entry->d_un.d_ptr < object.l_addr ? entry->d_un.d_ptr + object.l_addr : entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) table.symbols = AtAddress<const ElfW(Sym)>(address);
    if (entry->d_tag == DT_STRTAB) table.strings = AtAddress<const char>(address);
    if (entry->d_tag == DT_GNU_HASH) table.hash = AtAddress<const uint32_t>(address);
  }
  return table;
}

// The address, or 0.
inline uintptr_t FindSymbol(const link_map& object, const char* name) {
  const SymbolTable table = TableOf(object);
  if (table.symbols == nullptr || table.strings == nullptr || table.hash == nullptr) return 0;
  const uint32_t buckets = table.hash[0];
  const uint32_t first = table.hash[1];
  const uint32_t bloom_words = table.hash[2];
  if (buckets == 0) return 0;
  const auto* const bucket = table.hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const auto* const chain = bucket + buckets;
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  uint32_t at = bucket[hash % buckets];
  if (at < first) return 0;
  for (;; ++at) {
    const uint32_t link = chain[at - first];
    const ElfW(Sym)& symbol = table.symbols[at];
    if ((link | 1) == (hash | 1) && symbol.st_shndx != SHN_UNDEF &&
        std::strcmp(table.strings + symbol.st_name, name) == 0) {
      return object.l_addr + symbol.st_value;
    }
    if ((link & 1) != 0) return 0;
  }
}

}  // namespace triodrill::collective
