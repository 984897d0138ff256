import { computed } from 'vue'
import { LikePackageDocument, PackagePopularityDocument, UnlikePackageDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { announce } from '../shared/announce.ts'

/** How much a package is used and liked. */
export function usePopularity(name: () => string) {
  const { data, ...state } = useQuery(PackagePopularityDocument, () => ({ name: name() }))
  return { ...state, popularity: computed(() => data.value?.package ?? undefined) }
}

/** Likes a package, or no longer; the page shows it at once, for the answer has the new count. */
export function useLike() {
  const like = useMutation(LikePackageDocument)
  const unlike = useMutation(UnlikePackageDocument)
  async function setLike(name: string, liked: boolean) {
    const result = await (liked ? like : unlike).run({ name })
    if (result) announce(liked ? `You like ${name}` : `You no longer like ${name}`)
  }
  return {
    setLike,
    running: computed(() => like.running.value || unlike.running.value),
    failure: computed(() => like.failure.value ?? unlike.failure.value),
  }
}
