import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000200_token_limits extends Migration {
  override up() {
    this.addSql('alter table `access_tokens` add column `actions` text null;')
    this.addSql('alter table `access_tokens` add column `packages` text null;')
    this.addSql('alter table `access_tokens` add column `addresses` text null;')
    this.addSql('alter table `access_tokens` add column `previous_hash` text null;')
    this.addSql('alter table `access_tokens` add column `previous_expires_at` datetime null;')
    this.addSql('create index `access_tokens_previous_hash_index` on `access_tokens` (`previous_hash`);')
  }
}
