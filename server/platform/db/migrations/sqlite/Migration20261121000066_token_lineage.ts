import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000066_token_lineage extends Migration {
  override up() {
    this.addSql('alter table `access_tokens` add column `made_with_id` text null constraint `access_tokens_made_with_id_foreign` references `access_tokens` (`id`) on delete cascade;')
    this.addSql('create index `access_tokens_made_with_id_index` on `access_tokens` (`made_with_id`);')
  }
}
