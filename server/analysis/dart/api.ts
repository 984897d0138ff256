/** The public API of a package, as read from its sources. The input of scoring, documentation pages and API comparisons. */
export type Api = {
  /** The libraries below `lib/`, sorted by path, without those below `lib/src/`. */
  libraries: Library[]
  /**
   * Imports and exports of each library file below `lib/`, including `lib/src/`, by path in the archive. Imports of a part file belong to its
   * library.
   */
  files: { path: string; imports: LibraryImport[] }[]
  /** Types below `lib/` that no library exports: private types, types in `lib/src/` that are not exported, and types marked with `@nodoc`. */
  hidden: Declaration[]
  /** Paths below `lib/` of files that could not be parsed completely. The rest of such a file is still included. */
  unclear: string[]
}

export type Library = {
  /** Path below `lib/`, such as `widgets.dart`. */
  path: string
  /** Name in the `library` directive, else the path without `.dart`. */
  name: string
  doc: string | null
  /** Imports and exports as written, with their conditional URIs. */
  imports: LibraryImport[]
  /** Declarations of the library and its exports from other files of this package, after `show` and `hide`. */
  declarations: Declaration[]
  /** URIs that the library itself exports from other packages, as written. */
  foreignExports: string[]
  /** Exports from other packages, direct or through files of this package, with all `show` and `hide` combinators on the path. */
  reexports: Reexport[]
}

export type Reexport = { uri: string; combinators: { shows: boolean; names: string[] }[] }

export type LibraryImport = {
  kind: 'import' | 'export'
  uri: string
  /** Conditional URIs: `if (dart.library.js_interop) 'web.dart'` consists of a condition and a URI. */
  conditions: { condition: string; uri: string }[]
}

export type DeclarationKind =
  | 'class'
  | 'mixin'
  | 'extension'
  | 'extension type'
  | 'enum'
  | 'function'
  | 'typedef'
  | 'variable'
  | 'constant'
  | 'getter'
  | 'setter'

export type Declaration = Described & {
  kind: DeclarationKind
  /**
   * Types in the `extends`, `implements`, `with` and `on` clauses as written, with type arguments. `represents` is the representation type of an
   * extension type.
   */
  supertypes: { relation: 'extends' | 'implements' | 'with' | 'on' | 'represents'; type: string }[]
  members: Member[]
  /** Whether a class has the implicit default constructor; absent if the class could not be parsed completely. */
  hasDefaultConstructor?: boolean
}

export type MemberKind = 'constructor' | 'method' | 'operator' | 'getter' | 'setter' | 'field' | 'constant' | 'enum value'

export type Member = Described & {
  kind: MemberKind
  isStatic: boolean
  /** Whether the member has an `@override` annotation. Such members inherit their documentation. */
  isOverride: boolean
  /** Name of the superclass constructor that a constructor calls; absent for the unnamed constructor. */
  superConstructor?: string
}

type Described = {
  /** Name without type parameters. Constructors are named `Name` or `Name.named`; the name of an unnamed extension is empty. */
  name: string
  /** Signature on one line, as shown in documentation: modifiers, types and parameters with defaults, without annotations and body. */
  signature: string
  /** Doc comment as Markdown, without slashes or stars; null if there is no comment. */
  doc: string | null
  /** Message of `@Deprecated`, empty for `@deprecated`; null if not deprecated. */
  deprecated: string | null
  /** Location of the declaration: path in the archive, and line number starting at 1. */
  source: { path: string; line: number }
}
