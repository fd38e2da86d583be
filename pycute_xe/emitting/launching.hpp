// What a program of a kernel does on a device: place, fill, run, compare, time, report.
namespace xe_launching {

using Numbers = std::map<std::string, int64_t>;

// What stands in the way, as one line.
struct Refused {
  std::string line;
};

inline bool kept(Rule const &rule, int64_t value) {
  std::string const how = rule.how;
  if (how == "at_least") return value >= rule.bound;
  if (how == "at_most") return value <= rule.bound;
  if (how == "multiple_of") return value % rule.bound == 0;
  throw Refused{"the rule " + how + " is unknown"};
}

inline std::string with_commas(int64_t number) {
  std::string digits = std::to_string(number);
  for (int at = int(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, ",");
  return digits;
}

// -------------------------------------------------------------- operands

// An operand in USM: rows of bytes from pitch to pitch, of which width bytes count.
template <class T>
struct Operand {
  static constexpr int bits = int(cute::sizeof_bits_v<T>);
  std::string name;
  int contiguous;
  std::vector<int64_t> shape, strides;  // strides in elements
  int64_t rows = 1, width = 0, pitch = 0;
  uint8_t *memory = nullptr;

  // Place rows of 64 bytes and more; refuse what messages do not take.
  void place(std::vector<int64_t> extents, Numbers const &asked) {
    shape = std::move(extents);
    strides.assign(shape.size(), 1);
    width = (shape[contiguous] * bits + 7) / 8;
    bool const matrix = shape.size() > 1;
    // A vector is one row, as wide as its pitch.
    pitch = matrix ? (std::max<int64_t>(width, 64) + 63) / 64 * 64 : width;
    if (asked.count(name)) pitch = asked.at(name);
    int64_t bytes = pitch, base = 0, height = 1;
    for (int mode = int(shape.size()) - 1; mode >= 0; --mode) {
      if (mode == contiguous) continue;
      if (rows == 1) height = shape[mode];
      else base = base ? base : bytes;
      strides[mode] = bytes * 8 / bits;
      rows *= shape[mode];
      bytes *= shape[mode];
    }
    if (pitch < width)
      throw Refused{name + ": a pitch of " + std::to_string(pitch) + " bytes is below the " +
                    std::to_string(width) + " of a row"};
    std::map<std::string, int64_t> measured{
        {"width", width}, {"height", height}, {"pitch", pitch}, {"base", base}};
    for (Rule const &rule : RULES) {
      int64_t const value = measured.at(rule.quantity);
      if (kept(rule, value)) continue;
      std::string must = (rule.how[0] == 'm' ? "a " : "") + std::string(rule.how);
      std::replace(must.begin(), must.end(), '_', ' ');
      throw Refused{name + ": its " + rule.quantity + " of " + std::to_string(value) + " must be " +
                    must + " " + std::to_string(rule.bound)};
    }
  }
  int64_t bytes() const { return rows * pitch; }
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return count;
  }
  T *pointer() const { return reinterpret_cast<T *>(memory); }

  void allocate(sycl::queue &queue) {
    memory = sycl::aligned_alloc_shared<uint8_t>(64, bytes(), queue);
    if (!memory) throw Refused{name + ": " + with_commas(bytes()) + " bytes cannot be allocated"};
    std::memset(memory, 0, bytes());
  }

  // Where an element lies, in bits; an index outside is taken for the nearest inside.
  int64_t place_of(int64_t const *at) const {
    int64_t place = 0;
    for (size_t mode = 0; mode < shape.size(); ++mode)
      place += std::clamp<int64_t>(at[mode], 0, shape[mode] - 1) * strides[mode];
    return place * bits;
  }
  double at(std::initializer_list<int64_t> indices) const { return at(indices.begin()); }
  double at(int64_t const *indices) const {
    int64_t const place = place_of(indices);
    uint8_t raw[sizeof(T)];
    std::memcpy(raw, memory + place / 8, sizeof(T));
    if constexpr (bits < 8) raw[0] = (raw[0] >> place % 8) & ((1 << bits) - 1);
    T value;
    std::memcpy(&value, raw, sizeof(T));
    return number(value);
  }
  void set(int64_t const *indices, double number) {
    int64_t const place = place_of(indices);
    T const value = rounded_to(number);
    uint8_t raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    if constexpr (bits < 8) {
      int const mask = ((1 << bits) - 1) << place % 8;
      raw[0] = uint8_t((memory[place / 8] & ~mask) | (raw[0] << place % 8 & mask));
    }
    std::memcpy(memory + place / 8, raw, sizeof(T));
  }
  static double number(T value) {
    if constexpr (std::is_arithmetic_v<T>) return double(value);
    else if constexpr (bits < 8 && !cute::is_same_v<T, cute::float_e2m1_t>) return double(int(value));
    else return double(float(value));
  }
  static T rounded_to(double number) {
    if constexpr (std::is_integral_v<T>) {
      double const low = double(std::numeric_limits<T>::lowest());
      double const high = double(std::numeric_limits<T>::max());
      return T(std::clamp(std::nearbyint(number), low, high));
    } else if constexpr (bits < 8 && !cute::is_same_v<T, cute::float_e2m1_t>) return T(int(number));
    else return T(float(number));
  }
  static double rounded(double value) { return number(rounded_to(value)); }

  // The indices of an element by its number, the last mode fastest.
  std::vector<int64_t> indices(int64_t number) const {
    std::vector<int64_t> at(shape.size());
    for (size_t mode = shape.size(); mode-- > 0; number /= shape[mode]) at[mode] = number % shape[mode];
    return at;
  }
  void fill(std::vector<double> const &numbers, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int64_t i = 0; i < elements(); ++i) set(indices(i).data(), numbers[random() % numbers.size()]);
  }
};

// The value of a scalar as its type has it.
template <class T> double rounded(double value) { return Operand<T>::rounded(value); }

// -------------------------------------------------------------- device

inline sycl::queue queue_of(int64_t largest, int64_t all) {
  sycl::queue queue = [] {
    try {
      return sycl::queue{sycl::gpu_selector_v, sycl::property_list{
          sycl::property::queue::enable_profiling{}, sycl::property::queue::in_order{}}};
    } catch (sycl::exception const &) {
      throw Refused{"SYCL has no GPU here: install Intel's graphics driver (libze-intel-gpu1)"};
    }
  }();
  sycl::device const device = queue.get_device();
  auto const name = device.get_info<sycl::info::device::name>();
  bool blocks = false;
  for (auto each : ARCHITECTURES) blocks = blocks || device.ext_oneapi_architecture_is(each);
  if (!blocks) throw Refused{name + " has no block-2D messages: use one of Xe-HPC or Xe2"};
  int64_t const one = device.get_info<sycl::info::device::max_mem_alloc_size>();
  int64_t const total = device.get_info<sycl::info::device::global_mem_size>();
  for (auto [what, need, limit] : {std::tuple{"one operand takes ", largest, one},
                                   std::tuple{"the operands take ", all, total}})
    if (need > limit)
      throw Refused{what + with_commas(need) + " bytes, " + name + " gives " + with_commas(limit) +
                    ": use smaller sizes"};
  return queue;
}

// Run a kernel once; the seconds that the device took.
template <class Kernel>
double once(sycl::queue &queue, Kernel const &kernel) {
  sycl::event event = queue.parallel_for(kernel.xe_range(), kernel);
  event.wait_and_throw();
  auto const start = event.get_profiling_info<sycl::info::event_profiling::command_start>();
  auto const end = event.get_profiling_info<sycl::info::event_profiling::command_end>();
  return double(end - start) / 1e9;
}

// -------------------------------------------------------------- compare

// How many elements were compared, and the one that is furthest off, in words.
struct Compared {
  int64_t elements = 0, checked = 0;
  std::string different;
};

// Compare elements spread over an output, the last one first, until all are or the time is over.
template <class T, class Value>
void compare(Compared &into, Operand<T> const &out, Value value, double tolerance, double seconds) {
  int64_t const total = out.elements();
  int64_t step = int64_t(double(total) * 0.618) | 1;
  while (std::gcd(step, total) != 1) step += 2;
  double largest = 0, worst = 0;
  std::string words;
  auto const start = std::chrono::steady_clock::now();
  int64_t checked = 0, at = total - 1;
  for (; checked < total; ++checked, at = (at + step) % total) {
    auto const indices = out.indices(at);
    double const found = out.at(indices.data()), wanted = out.rounded(value(indices));
    if (std::isfinite(wanted)) largest = std::max(largest, std::abs(wanted));
    bool const same = found == wanted || (std::isnan(found) && std::isnan(wanted));
    double off = same ? 0 : std::abs(found - wanted);
    if (!same && !std::isfinite(off)) off = INFINITY;
    if (off > worst) {
      worst = off;
      words = out.name + "[";
      for (size_t i = 0; i < indices.size(); ++i) words += (i ? ", " : "") + std::to_string(indices[i]);
      words += "] is " + std::to_string(found) + ", the host has " + std::to_string(wanted);
    }
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - start;
    if (checked % 1024 == 0 && spent.count() > seconds) break;
  }
  into.elements += total;
  into.checked += checked;
  if (worst > tolerance * largest && into.different.empty()) into.different = words;
}

// -------------------------------------------------------------- options and reports

// The options of a command line, and the numbers of `M=4096,N=4096` by name.
struct Options {
  std::map<std::string, std::string> given;
  Options(int count, char const *const *words, std::string const &usage)
      : given{{"--size", ""}, {"--pitch", ""}, {"--repeat", "20"},
              {"--compare", "60"}, {"--seed", "0"}, {"--save", ""}} {
    for (int i = 1; i < count; i += 2) {
      if (!given.count(words[i]) || i + 1 == count) throw Refused{usage};
      given[words[i]] = words[i + 1];
    }
  }
  std::string const &text(std::string const &option) const { return given.at(option); }
  int64_t whole(std::string const &option) const { return parsed(option, text(option)); }
  Numbers numbers(std::string const &option) const {
    Numbers out;
    std::istringstream parts(text(option));
    for (std::string part; std::getline(parts, part, ',');) {
      auto const equals = part.find('=');
      if (equals == std::string::npos) throw Refused{option + ": " + part + " is not of the form M=4096"};
      out[part.substr(0, equals)] = parsed(option, part.substr(equals + 1));
    }
    return out;
  }
  static int64_t parsed(std::string const &option, std::string const &word) {
    bool const digits = !word.empty() && word.size() < 16 &&
                        word.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) throw Refused{option + ": " + word + " is not a whole number"};
    return std::stoll(word);
  }
};

inline std::string quoted(std::string const &text) {
  std::string out = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += (unsigned char)(letter) < 32 ? ' ' : letter;
  }
  return out + "\"";
}
inline std::string json(std::string const &value) { return quoted(value); }
inline std::string json(int64_t value) { return std::to_string(value); }
inline std::string json(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return std::strpbrk(text, ".en") ? text : std::string(text) + ".0";
}
template <class A, class B> std::string json(std::pair<A, B> const &pair) {
  return "[" + json(pair.first) + ", " + json(pair.second) + "]";
}
template <class T> std::string json(std::vector<T> const &values) {
  std::string out;
  for (auto const &value : values) out += (out.empty() ? "" : ", ") + json(value);
  return "[" + out + "]";
}

inline void print(Figures const &figures) {
  std::vector<double> ordered = figures.seconds;
  std::sort(ordered.begin(), ordered.end());
  size_t const half = ordered.size() / 2;
  double const usual = ordered.size() % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
  std::fprintf(stdout, "device   %s, driver %s\nsizes   ", figures.device.c_str(), figures.driver.c_str());
  for (auto const &[name, size] : figures.sizes) std::fprintf(stdout, " %s=%lld", name.c_str(), (long long)size);
  std::fprintf(stdout, "\nresult   ");
  if (!figures.different.empty()) std::fprintf(stdout, "%s", figures.different.c_str());
  else if (figures.tolerance) std::fprintf(stdout, "equal within %.2g of the largest", figures.tolerance);
  else std::fprintf(stdout, "equal");
  if (figures.compared < 1) std::fprintf(stdout, " (%.0f%% of the elements)", figures.compared * 100);
  std::fprintf(stdout, "\ntime     %.3f ms (best %.3f): %.4g TFLOP/s, %.4g GB/s\n", usual * 1e3, ordered[0] * 1e3,
              double(figures.operations) / usual / 1e12, double(figures.bytes) / usual / 1e9);
}

inline void save(Figures const &figures, std::string const &path) {
  std::ofstream file(path);
  file << "{\"format\": \"pycute_xe\", \"version\": 1, \"kind\": \"Measurement\", \"value\": "
       << "{\"class\": \"Measurement\"";
  figures.each([&](char const *name, auto const &value) {
    file << ", " << quoted(name) << ": " << json(value);
  });
  file << "}}\n";
  if (!file.flush()) throw Refused{path + " cannot be written"};
}

// -------------------------------------------------------------- run

template <class Problem>
int measured(int count, char const *const *words) {
  Problem problem;
  std::string sizes;
  problem.xe_each_size([&](std::string const &name, int) { sizes += (sizes.empty() ? "" : ", ") + name; });
  Options const options(count, words, "the options are --size M=4096 --pitch A=8192 --repeat 20 "
                                      "--compare 60 --seed 0 --save FILE.json");
  Numbers asked = options.numbers("--size");
  Figures figures{};
  problem.xe_each_size([&](std::string const &name, int &size) {
    if (asked.count(name)) {
      if (asked[name] < 1 || asked[name] > INT32_MAX) throw Refused{"a size must be 1 or more"};
      size = int(asked[name]);
      asked.erase(name);
    }
    figures.sizes.emplace_back(name, size);
  });
  if (!asked.empty())
    throw Refused{asked.begin()->first + " is unknown: the sizes are " + sizes};
  int64_t largest = 0, all = 0;
  problem.xe_each_operand([&](auto &operand, std::vector<int64_t> extents, int times, auto const &) {
    operand.place(extents, options.numbers("--pitch"));
    largest = std::max(largest, operand.bytes());
    all += operand.bytes();
    figures.bytes += times * operand.rows * operand.width;
  });
  sycl::queue queue = queue_of(largest, all);
  uint64_t seed = uint64_t(options.whole("--seed"));
  problem.xe_each_operand([&](auto &operand, auto const &, int, auto const &numbers) {
    operand.allocate(queue);
    if (!numbers.empty()) operand.fill(numbers, seed++);
  });
  auto const kernel = problem.xe_launched();
  once(queue, kernel);
  Compared compared;
  problem.xe_each_output([&](auto const &output, auto value, double tolerance) {
    compare(compared, output, value, tolerance, double(options.whole("--compare")));
    figures.tolerance = std::max(figures.tolerance, tolerance);
  });
  once(queue, kernel);
  for (int64_t i = 0; i < std::max<int64_t>(1, options.whole("--repeat")); ++i)
    figures.seconds.push_back(once(queue, kernel));
  sycl::device const device = queue.get_device();
  figures.kernel = Problem::xe_name;
  figures.identity = Problem::xe_identity;
  figures.kind = Problem::xe_kind;
  figures.device = device.get_info<sycl::info::device::name>();
  figures.driver = device.get_info<sycl::info::device::driver_version>();
  figures.registers = REGISTERS;
  figures.operations = int64_t(problem.xe_operations());
  figures.compared = double(compared.checked) / double(compared.elements);
  figures.different = compared.different;
  print(figures);
  if (!options.text("--save").empty()) save(figures, options.text("--save"));
  problem.xe_each_operand(
      [&](auto &operand, auto const &, int, auto const &) { sycl::free(operand.memory, queue); });
  return figures.different.empty() ? 0 : 1;
}

// 0 where the result is right, 1 where it is not, 2 if it cannot run.
template <class Problem>
int run(int count, char const *const *words) {
  std::string why;
  try {
    return measured<Problem>(count, words);
  } catch (Refused const &refused) {
    why = refused.line;
  } catch (std::exception const &error) {
    why = error.what();
  }
  std::fprintf(stderr, "%s: %s\n", Problem::xe_name, why.c_str());
  return 2;
}

}  // namespace xe_launching
