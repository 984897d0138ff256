/** A table or an index. The size of a table includes large values stored outside of its rows. */
export type Relation = {
  name: string
  kind: 'table' | 'index'
  sizeBytes: number
  /** Number of rows of a table or entries of an index; null if unknown. */
  rows: number | null
}

/** Results that are expensive to compute; null if computing them took too long. */
export type Sizes = {
  /** Total size of the archives of all versions. */
  archiveBytes: number | null
  /** Total size of the documentation of all versions. */
  docsBytes: number | null
  relations: Relation[] | null
}

/** Sizes with the time of the measurement; null if nothing was measured yet. */
export type Measurement = Sizes & { measuredAt: Date | null }
