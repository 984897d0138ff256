import { Migration } from '@mikro-orm/migrations'

export class Migration20261126000500_api_verdicts extends Migration {
  override up() {
    this.addSql('create table `version_api_verdicts` (`version_id` text not null, `compared_with` text not null, `verdict` text not null, `is_honest` integer null, primary key (`version_id`), constraint `version_api_verdicts_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `version_api_verdicts_version_id_index` on `version_api_verdicts` (`version_id`);')
  }
}
