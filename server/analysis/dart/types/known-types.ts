import { callableOf, typeParametersOf } from '../signature.ts'
import type { SurfaceDeclaration } from '../surface.ts'

/** A resolved type name: a type with its supertypes, or an alias. Types are as written. */
export type KnownType = { parameters: string[] } & ({ supertypes: string[] } | { alias: string })

/** Resolves a type name. Returns null for types of other packages. */
export type TypeLookup = (name: string) => KnownType | null

/** Creates a lookup in the declarations of the later version, then those of the earlier version, then the Dart SDK. */
export function lookUpIn(later: ReadonlyMap<string, SurfaceDeclaration>, earlier: ReadonlyMap<string, SurfaceDeclaration>): TypeLookup {
  const known = new Map<string, KnownType | null>()
  return (name) => {
    const found = known.get(name)
    if (found !== undefined) return found
    const declaration = later.get(name) ?? earlier.get(name)
    const type = declaration === undefined ? (coreTypes.get(name) ?? null) : knownType(declaration)
    known.set(name, type)
    return type
  }
}

function knownType(declaration: SurfaceDeclaration): KnownType | null {
  const parameters = typeParametersOf(declaration)
  if (declaration.kind !== 'typedef') {
    const above = (declaration.supertypes ?? []).filter(({ relation }) => relation !== 'represents')
    return { parameters, supertypes: above.map(({ type }) => type) }
  }
  const alias = aliasedBy(declaration)
  return alias === null ? null : { parameters, alias }
}

/** Returns the aliased type of a typedef as written, or null if it cannot be parsed. */
export function aliasedBy({ signature }: SurfaceDeclaration): string | null {
  const modern = /^typedef [\w$]+ ?(?:<.*?>)? ?= ?(.+)$/s.exec(signature)?.[1]
  if (modern !== undefined) return modern
  const old = callableOf(signature.replace(/^typedef /, ''))
  if (old === null) return null
  const positional = old.parameters.filter(({ isNamed }) => !isNamed)
  const typed = ({ type, name }: { type: string; name: string }) => `${type || 'dynamic'} ${name}`
  const required = positional.filter(({ isRequired }) => isRequired).map(typed)
  const optional = positional.filter(({ isRequired }) => !isRequired).map(typed)
  const named = old.parameters.filter(({ isNamed }) => isNamed).map((each) => `${each.isRequired ? 'required ' : ''}${typed(each)}`)
  const sections = [optional.length > 0 ? `[${optional.join(', ')}]` : '', named.length > 0 ? `{${named.join(', ')}}` : '']
  return `${old.returns || 'dynamic'} Function(${[...required, ...sections].filter(Boolean).join(', ')})`
}

/** The types of the Dart SDK that signatures use most, with their supertypes. Source: the API reference of the Dart SDK. */
const declarations = `
Object; Null; Never; Function: Object; Record: Object; Type; Symbol; bool; num: Comparable<num>; int: num; double: num; BigInt: Comparable<BigInt>;
String: Comparable<String>, Pattern; Pattern; RegExp: Pattern; Match; RegExpMatch: Match; Comparable<T>; DateTime: Comparable<DateTime>;
Duration: Comparable<Duration>; Uri; UriData; StackTrace; Stopwatch; Expando<T>; WeakReference<T>; Finalizer<T>; Enum; Invocation; Runes: Iterable<int>;
StringSink; StringBuffer: StringSink; Sink<T>; Iterator<E>; Iterable<E>; List<E>: Iterable<E>; Set<E>: Iterable<E>; Map<K, V>; MapEntry<K, V>;
Exception; FormatException: Exception; Error; ArgumentError: Error; RangeError: ArgumentError; StateError: Error; UnsupportedError: Error;
UnimplementedError: UnsupportedError; TypeError: Error; AssertionError: Error; ConcurrentModificationError: Error;
Future<T>; FutureOr<T>; Stream<T>; StreamSubscription<T>; EventSink<T>: Sink<T>; StreamConsumer<S>; StreamSink<S>: EventSink<S>, StreamConsumer<S>;
StreamController<T>: StreamSink<T>; SynchronousStreamController<T>: StreamController<T>; StreamTransformer<S, T>; StreamIterator<T>; Completer<T>;
Timer; Zone; ZoneSpecification; TimeoutException: Exception;
Queue<E>: Iterable<E>; ListQueue<E>: Queue<E>; DoubleLinkedQueue<E>: Queue<E>; HashMap<K, V>: Map<K, V>; LinkedHashMap<K, V>: Map<K, V>;
SplayTreeMap<K, V>: Map<K, V>; UnmodifiableMapView<K, V>: MapView<K, V>; MapView<K, V>: Map<K, V>; MapBase<K, V>: Map<K, V>; HashSet<E>: Set<E>;
LinkedHashSet<E>: Set<E>; SplayTreeSet<E>: Set<E>; SetBase<E>: Set<E>; UnmodifiableSetView<E>: Set<E>; ListBase<E>: List<E>;
UnmodifiableListView<E>: ListBase<E>; IterableBase<E>: Iterable<E>;
Codec<S, T>; Converter<S, T>: StreamTransformer<S, T>; Encoding: Codec<String, List<int>>; Utf8Codec: Encoding; AsciiCodec: Encoding; Latin1Codec: Encoding;
JsonCodec: Codec<Object?, String>; Base64Codec: Codec<List<int>, String>; JsonEncoder: Converter<Object?, String>; JsonDecoder: Converter<String, Object?>;
Utf8Encoder: Converter<String, List<int>>; Utf8Decoder: Converter<List<int>, String>;
TypedData; ByteBuffer; ByteData: TypedData; Endian; TypedDataList<E>: List<E>, TypedData;
Uint8List: TypedDataList<int>; Int8List: TypedDataList<int>; Uint8ClampedList: TypedDataList<int>; Int16List: TypedDataList<int>;
Uint16List: TypedDataList<int>; Int32List: TypedDataList<int>; Uint32List: TypedDataList<int>; Int64List: TypedDataList<int>;
Uint64List: TypedDataList<int>; Float32List: TypedDataList<double>; Float64List: TypedDataList<double>;
Random; Point<T>; Rectangle<T>; SendPort; ReceivePort: Stream<dynamic>; Isolate;
FileSystemEntity; File: FileSystemEntity; Directory: FileSystemEntity; Link: FileSystemEntity; FileStat; FileMode; RandomAccessFile;
IOSink: StreamSink<List<int>>, StringSink; Stdout: IOSink; Stdin: Stream<List<int>>; Socket: Stream<Uint8List>, IOSink; SecureSocket: Socket;
HttpClient; HttpClientRequest: IOSink; HttpClientResponse: Stream<List<int>>; HttpHeaders; HttpRequest: Stream<Uint8List>; HttpResponse: IOSink;
HttpServer: Stream<HttpRequest>; InternetAddress; Process; ProcessResult; SecurityContext; X509Certificate; Cookie;
WebSocket: Stream<dynamic>, StreamSink<dynamic>; IOException: Exception; FileSystemException: IOException; HttpException: IOException;
SocketException: IOException; ProcessException: IOException`

export const coreTypes = new Map(
  declarations.split(';').map((declaration) => {
    const [head = '', above = ''] = declaration.trim().split(/:\s*/)
    const [, name = '', parameters = ''] = /^(\w+)(?:<(.*)>)?$/.exec(head) ?? []
    return [name, { parameters: parameters.split(/,\s*/).filter(Boolean), supertypes: above.split(/,\s*(?![^<]*>)/).filter(Boolean) }]
  }),
)
