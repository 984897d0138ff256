/** The public API of a package, as read from its sources. */
export type Api = {
  /** The libraries below `lib/`, sorted by path, without those below `lib/src/`. */
  libraries: Library[]
  /** Imports and exports of each library file below `lib/`, by path in the archive. Those of part files belong to their library. */
  files: { path: string; imports: LibraryImport[] }[]
  /** Types below `lib/` that no library exports, including private types and those marked with `@nodoc`. */
  hidden: Declaration[]
  /** Paths below `lib/` of files that could not be parsed completely. The rest of such a file is still included. */
  unclear: string[]
  /** Paths below `lib/` of files that exceed a limit, so that some or all of their declarations are missing. */
  unread: string[]
}

export type Library = {
  /** Path below `lib/`, such as `widgets.dart`. */
  path: string
  /** Name in the `library` directive, else the path without `.dart`. */
  name: string
  doc: string | null
  imports: LibraryImport[]
  /** Declarations of the library and its exports from other files of this package, after `show` and `hide`. */
  declarations: Declaration[]
  /** URIs that the library itself exports from other packages, as written. */
  foreignExports: string[]
  /** Exports from other packages, direct or through files of this package, with all `show` and `hide` combinators on the path. */
  reexports: Reexport[]
}

export type Reexport = { uri: string; combinators: { shows: boolean; names: string[] }[] }

/** An import or export as written. `if (dart.library.js_interop) 'web.dart'` consists of a condition and a URI. */
export type LibraryImport = { kind: 'import' | 'export'; uri: string; conditions: { condition: string; uri: string }[] }

/** Kinds of declarations that have members. */
export const containerKinds = ['class', 'mixin', 'extension', 'extension type', 'enum'] as const
export const declarationKinds = [...containerKinds, 'function', 'typedef', 'variable', 'constant', 'getter', 'setter'] as const
export const memberKinds = ['constructor', 'method', 'operator', 'getter', 'setter', 'field', 'constant', 'enum value'] as const
export const relations = ['extends', 'implements', 'with', 'on', 'represents'] as const

export type DeclarationKind = (typeof declarationKinds)[number]
const containers: ReadonlySet<string> = new Set(containerKinds)
export const hasMembers = ({ kind }: { kind: DeclarationKind }): boolean => containers.has(kind)

/** Whether a declaration is a type that other types can refer to by name. */
export const isNamedType = ({ kind }: { kind: DeclarationKind }): boolean =>
  ['class', 'mixin', 'extension type', 'enum', 'typedef'].includes(kind)

export type Declaration = Described & {
  kind: DeclarationKind
  /** Types in the clauses of the header, as written. `represents` is the representation type of an extension type. */
  supertypes: { relation: (typeof relations)[number]; type: string }[]
  members: Member[]
  /** Whether a class has the implicit default constructor; absent if the class could not be parsed completely. */
  hasDefaultConstructor?: boolean
}

export type Member = Described & {
  kind: (typeof memberKinds)[number]
  isStatic: boolean
  /** Whether the member has an `@override` annotation. Such members inherit their documentation. */
  isOverride: boolean
  /** Name of the superclass constructor that a constructor calls; absent for the unnamed constructor. */
  superConstructor?: string
}

export type Described = {
  /** Name without type parameters. Constructors are named `Name` or `Name.named`; the name of an unnamed extension is empty. */
  name: string
  /** Signature on one line: modifiers, types and parameters with defaults, without annotations and body. */
  signature: string
  /** Doc comment as Markdown; null if there is no comment. */
  doc: string | null
  /** Message of `@Deprecated`, empty for `@deprecated`; null if not deprecated. */
  deprecated: string | null
  /** Path in the archive, and line number starting at 1. */
  source: { path: string; line: number }
}
