// Shapes of arguments, declared as text and checked before a kernel runs.
//
// "[2d|3d, m]" is a matrix of 2d or 3d rows and m columns. A letter stands for one size in all
// arguments of a call; it is at least 1, or may be 0 where it is marked with a star ("[n*, d]").
// "0..m" is a whole number of at least 0 and below m.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>

#include "views.hpp"

namespace ensample {

/// Raise ValueError "argument `name`: expected ..." unless a condition holds. It needs no GIL:
/// nanobind translates the exception.
inline void require(bool condition, const char* name, const char* expected) {
  if (!condition)
    throw std::invalid_argument("argument `" + std::string(name) + "`: expected " + expected);
}

/// factor symbol + offset; the offset alone where there is no symbol.
struct Term {
  std::int8_t factor = 0, offset = 0;
  char symbol = 0;
  bool may_be_zero = false;

  constexpr bool is_symbol() const { return symbol != 0 && factor == 1 && offset == 0; }
};

/// Reads terms from text such as "3d+9". A wrong character is a compile-time error.
struct TermReader {
  const char* next;

  constexpr bool take(char wanted) {
    const bool found = *next == wanted;
    next += found;
    return found;
  }
  constexpr void expect(char wanted) {
    if (!take(wanted)) throw "a shape is written as [2d|3d, m] or as 0..m";
  }
  constexpr std::int8_t number() {
    int value = 0;
    while ('0' <= *next && *next <= '9') value = 10 * value + (*next++ - '0');
    return static_cast<std::int8_t>(value);
  }
  constexpr bool at_letter() const {
    return ('a' <= *next && *next <= 'z') || ('A' <= *next && *next <= 'Z');
  }
  constexpr Term term() {
    const bool negative = take('-'), has_digits = '0' <= *next && *next <= '9';
    const std::int8_t first = number(), opposite = static_cast<std::int8_t>(-first);
    if (!at_letter()) return {.offset = negative ? opposite : first};
    Term term{.factor = has_digits ? first : std::int8_t{1}, .symbol = *next++};
    term.may_be_zero = take('*');
    if (take('+')) term.offset = number();
    if (take('-')) term.offset = static_cast<std::int8_t>(-number());
    return term;
  }
};

/// Requirements of one argument: sizes of an array, bounds of a whole number, or none.
struct Shape {
  enum class Kind : char { any, array, whole_number };
  const char* text = "";
  Kind kind = Kind::any;
  std::uint8_t dimensions = 0;
  std::array<std::array<Term, 2>, 3> sizes{};  // two alternatives each; of a number, its bounds
  std::array<std::uint8_t, 3> alternatives{};

  constexpr Shape() = default;
  consteval Shape(const char* declared) : text(declared) {
    TermReader reader{declared};
    if (reader.take('[')) {
      kind = Kind::array;
      do {
        do sizes[dimensions][alternatives[dimensions]++] = reader.term();
        while (reader.take('|'));
        ++dimensions;
        while (reader.take(' ')) continue;
        reader.take(',');
        while (reader.take(' ')) continue;
      } while (!reader.take(']'));
    } else {
      kind = Kind::whole_number;
      sizes[0][0] = reader.term();
      reader.expect('.'), reader.expect('.');
      sizes[0][1] = reader.term();
    }
    reader.expect('\0');
  }
};

/// Sizes of an argument: none where None was given for it.
struct Sizes {
  Index count = 0;
  std::array<Index, 3> values{};
};

template <class T>
Sizes sizes_of(std::span<T> array) {
  return {1, {array.size()}};
}
template <class T>
Sizes sizes_of(View<T> array) {
  return {2, {array.rows, array.columns}};
}
template <class T>
Sizes sizes_of(MatrixStack<T> array) {
  return {3, {array.count, array.rows, array.columns}};
}
template <class Array>
Sizes sizes_of(const std::optional<Array>& array) {
  return array ? sizes_of(*array) : Sizes{};
}
inline Sizes sizes_of(const ScaleLearning& learning) {
  return learning.scales.data ? sizes_of(learning.scales) : Sizes{};
}
template <class Other>
Sizes sizes_of(const Other&) {
  return {};
}

/// Values of the letters in the shapes of one call.
class Symbols {
 public:
  Symbols() { known.fill(unknown); }
  Symbols(std::initializer_list<std::pair<char, Index>> given) : Symbols() {
    for (const auto& [symbol, value] : given) at(symbol) = value;
  }

  Index operator[](char symbol) const { return known[Index(symbol - 'A')]; }

  /// Set the letters that are a size by themselves.
  template <class Argument>
  void read(const char* name, const Shape& shape, const Argument& argument) {
    const Sizes found = shape.kind == Shape::Kind::array ? sizes_of(argument) : Sizes{};
    for (Index i = 0; i < found.count; ++i) {
      const Term& term = shape.sizes[i][0];
      if (shape.alternatives[i] > 1 || !term.is_symbol()) continue;
      auto& value = at(term.symbol);
      if (value == unknown) value = found.values[i];
      if (value != found.values[i] || (value == 0 && !term.may_be_zero)) raise(name, shape, found);
    }
  }

  /// Raise ValueError unless all sizes, or the number, are as declared.
  template <class Argument>
  void check(const char* name, const Shape& shape, const Argument& argument) const {
    if constexpr (std::is_integral_v<Argument>) {
      if (shape.kind != Shape::Kind::whole_number) return;
      const auto value = Int(argument);
      if (value < value_of(shape.sizes[0][0]) || value >= value_of(shape.sizes[0][1]))
        raise(name, shape, {});
    } else if (shape.kind == Shape::Kind::array) {
      const Sizes found = sizes_of(argument);
      for (Index i = 0; i < found.count; ++i) {
        bool fits = false;
        for (Index k = 0; k < shape.alternatives[i]; ++k)
          fits = fits || value_of(shape.sizes[i][k]) == Int(found.values[i]);
        if (!fits) raise(name, shape, found);
      }
    }
  }

  template <class Argument>
  void require(const Argument& argument, const char* name, const Shape& shape) {
    read(name, shape, argument);
    check(name, shape, argument);
  }

  /// Sizes of an array of this shape.
  Sizes of(const Shape& shape) const {
    Sizes sizes{shape.dimensions, {}};
    for (Index i = 0; i < sizes.count; ++i) sizes.values[i] = Index(value_of(shape.sizes[i][0]));
    return sizes;
  }

 private:
  static constexpr Index unknown = ~Index{0};
  std::array<Index, 'z' - 'A' + 1> known;

  Index& at(char symbol) { return known[Index(symbol - 'A')]; }
  Int value_of(const Term& term) const {
    return term.offset + (term.symbol ? term.factor * Int((*this)[term.symbol]) : 0);
  }

  [[noreturn]] void raise(const char* name, const Shape& shape, const Sizes& found) const {
    const bool is_array = shape.kind == Shape::Kind::array;
    std::string text = "argument `" + std::string(name) + "`: expected ";
    text += std::string(is_array ? "an array " : "a number in ") + shape.text;
    const char* separator = " with ";
    for (const char* place = shape.text; *place != '\0'; ++place) {
      const TermReader reader{place};
      if (!reader.at_letter() || (*this)[*place] == unknown) continue;
      text += separator + std::string(1, *place) + " = " + std::to_string((*this)[*place]);
      separator = ", ";
    }
    for (Index i = 0; i < found.count; ++i)
      text += (i == 0 ? ", got [" : ", ") + std::to_string(found.values[i]);
    throw std::invalid_argument(found.count > 0 ? text + "]" : text);
  }
};

}  // namespace ensample
