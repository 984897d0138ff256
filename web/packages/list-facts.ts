import { computed } from 'vue'
import type { PackageSummaryFragment } from '../generated/graphql.ts'
import { valueTitle } from '../search/search-query.ts'

interface Fact {
  label: string
  icon: string
  /** Whether users should think twice before depending on the package. */
  isWarning?: boolean
}

/** Returns the facts about each listed package that not all of them share, by id. A fact that all share does not help to choose among them. */
export function useListFacts(packages: () => readonly PackageSummaryFragment[]) {
  return computed(() => {
    const all = packages().map((pkg) => [pkg.id, factsOf(pkg)] as const)
    const counts = new Map<string, number>()
    for (const { label } of all.flatMap(([, facts]) => facts)) counts.set(label, (counts.get(label) ?? 0) + 1)
    return new Map(
      all.map(([id, facts]) => [id, facts.filter(({ label, isWarning }) => isWarning || (counts.get(label) ?? 0) < all.length)]),
    )
  })
}

function factsOf({ latest }: PackageSummaryFragment): Fact[] {
  if (!latest) return []
  const { tags, needsFlutter, licenseId, score } = latest
  const platforms = tags.filter((tag) => tag.startsWith('platform:')).map((tag) => valueTitle('platform', tag.slice('platform:'.length)))
  return [
    { label: needsFlutter ? 'Flutter' : 'Dart', icon: needsFlutter ? 'i-lucide-smartphone' : 'i-lucide-code' },
    ...(platforms.length > 0 && platforms.length <= fewPlatforms ? [{ label: platforms.join(', '), icon: 'i-lucide-monitor' }] : []),
    ...(tags.includes('is:wasm-ready') ? [{ label: 'WebAssembly', icon: 'i-lucide-cpu' }] : []),
    ...(licenseId && licenseId !== 'unknown' ? [{ label: valueTitle('license', licenseId.toLowerCase()), icon: 'i-lucide-scale' }] : []),
    ...(score.status === 'COMPLETED' && !tags.includes('is:null-safe')
      ? [{ label: 'Not null safe', icon: 'i-lucide-triangle-alert', isWarning: true }]
      : []),
  ]
}

/** Packages for more platforms than these support nearly all, which is not worth naming. */
const fewPlatforms = 3
